//! Merges an update into a stored project contract (a JSON object with facts about the project). A merge adds and
//! replaces values, but never deletes any.
//!
//! During a merge, objects and lists keep an index of their elements. So finding an element does not take a search
//! through all elements, even for an update that names one element forty thousand times.

use std::collections::{HashMap, HashSet};

use super::pointer::{PointerPart, push_path};
use crate::json::{Object, Value, object};

/// The limit in bytes for all warnings of one merge. After the limit is reached, further warnings are dropped. Without
/// the limit, a hostile update could change the types of a hundred thousand values under one long name, and each
/// warning would repeat the name.
const WARNINGS_BYTES_MAX: usize = 16 << 20;

/// The result of merging updates into a stored project contract (a JSON object with facts about the project).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedContract {
    pub value: Value,
    /// The warnings about values of the stored project contract whose type changed, one warning for each such value. A
    /// warning has the form `TYPE_CHANGED:<JSON pointer to the value>`.
    pub warnings: Vec<String>,
}

impl MergedContract {
    /// Returns the result of the merge as the JSON object `{merged, warnings}`.
    pub fn to_value(&self) -> Value {
        object([("merged", self.value.clone()), ("warnings", self.warnings.clone().into())])
    }
}

/// Merges the payload of one update into a stored project contract (a JSON object with facts about the project).
/// `stored` is null when no contract is stored yet.
pub fn merge(stored: &Value, payload: &Value) -> MergedContract {
    merge_all(stored, [payload])
}

/// Merges the payloads (new values) of updates into a stored project contract, one after the other.
pub fn merge_all<'p>(stored: &Value, payloads: impl IntoIterator<Item = &'p Value>) -> MergedContract {
    let mut tree = MergeTree::Plain(stored.clone());
    let mut merging = Merging::default();
    for payload in payloads {
        if let MergeTree::Plain(Value::Null) = tree {
            tree = MergeTree::Plain(payload.clone());
        } else {
            tree.merge(payload, &mut merging);
        }
    }
    MergedContract { value: tree.into_value(), warnings: merging.warnings }
}

/// A stored value (a part of a project contract) into which updates are merged. A stored object gets an index of its
/// members when an object is merged into it. A stored list gets an index of its elements when a list is merged into it.
#[derive(Debug)]
enum MergeTree {
    Plain(Value),
    Fields(MergeFields),
    Items(MergeItems),
}

#[derive(Debug, Default)]
struct MergeFields {
    members: Vec<(String, MergeTree)>,
    places: HashMap<String, usize>,
}

#[derive(Debug, Default)]
struct MergeItems {
    items: Vec<MergeTree>,
    /// For each key, the position in the list of the first record with this key. A record is an object that has a
    /// [`RecordKey`].
    records: HashMap<RecordKey, usize>,
    /// The elements of the list that have no [`RecordKey`], each as canonical JSON.
    others: HashSet<String>,
}

/// The key that identifies a record in a list: its `name`, or its `id` when it has no `name`. Two objects with the same
/// key are the same record.
#[derive(Debug, PartialEq, Eq, Hash)]
enum RecordKey {
    Name(String),
    Id(String),
}

impl RecordKey {
    fn of(element: &Value) -> Option<Self> {
        match element.get("name") {
            Some(name) => name.as_text().map(|name| Self::Name(name.to_owned())),
            None => element.get("id")?.as_text().map(|id| Self::Id(id.to_owned())),
        }
    }
}

impl MergeTree {
    fn merge<'p>(&mut self, payload: &'p Value, merging: &mut Merging<'p>) {
        self.open(payload);
        match (self, payload) {
            (Self::Fields(fields), Value::Object(members)) => fields.merge(members, merging),
            (Self::Items(items), Value::List(elements)) => {
                for element in elements {
                    items.add(element, merging);
                }
            }
            (tree, payload) => {
                if !tree.is_same_type(payload) {
                    merging.type_changed();
                }
                *tree = Self::Plain(payload.clone());
            }
        }
    }

    /// Builds the index of this stored object or list before an update is merged into it. Does nothing unless the
    /// update is of the same type (object or list).
    fn open(&mut self, payload: &Value) {
        match (&mut *self, payload) {
            (Self::Plain(Value::Object(members)), Value::Object(_)) => {
                *self = Self::Fields(MergeFields::of(std::mem::take(members)));
            }
            (Self::Plain(Value::List(items)), Value::List(_)) => {
                *self = Self::Items(MergeItems::of(std::mem::take(items)))
            }
            (Self::Plain(_) | Self::Fields(_) | Self::Items(_), _) => {}
        }
    }

    fn is_same_type(&self, payload: &Value) -> bool {
        match self {
            Self::Plain(value) => std::mem::discriminant(value) == std::mem::discriminant(payload),
            Self::Fields(_) => matches!(payload, Value::Object(_)),
            Self::Items(_) => matches!(payload, Value::List(_)),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Plain(value) => value,
            Self::Fields(fields) => {
                let members = fields.members.into_iter().map(|(name, tree)| (name, tree.into_value()));
                Value::Object(members.collect())
            }
            Self::Items(items) => Value::List(items.items.into_iter().map(Self::into_value).collect()),
        }
    }
}

impl MergeFields {
    fn of(stored: Object) -> Self {
        let places = stored.iter().enumerate().map(|(place, (name, _))| (name.clone(), place)).collect();
        Self { members: stored.into_iter().map(|(name, value)| (name, MergeTree::Plain(value))).collect(), places }
    }

    fn merge<'p>(&mut self, payload: &'p Object, merging: &mut Merging<'p>) {
        for (name, value) in payload {
            let known = self.places.get(name).and_then(|place| self.members.get_mut(*place));
            if let Some((_, tree)) = known {
                merging.path.push(PointerPart::Name(name));
                tree.merge(value, merging);
                merging.path.pop();
            } else {
                self.places.insert(name.clone(), self.members.len());
                self.members.push((name.clone(), MergeTree::Plain(value.clone())));
            }
        }
    }
}

impl MergeItems {
    fn of(stored: Vec<Value>) -> Self {
        let mut all = Self::default();
        for (place, item) in stored.iter().enumerate() {
            match RecordKey::of(item) {
                Some(key) => {
                    all.records.entry(key).or_insert(place);
                }
                None => {
                    all.others.insert(item.canonical());
                }
            }
        }
        all.items = stored.into_iter().map(MergeTree::Plain).collect();
        all
    }

    fn add<'p>(&mut self, element: &'p Value, merging: &mut Merging<'p>) {
        let Some(key) = RecordKey::of(element) else {
            // An element without a key (a `name` or `id`) never equals an element with a key. Therefore it is compared
            // only with the other elements that have no key.
            if self.others.insert(element.canonical()) {
                self.items.push(MergeTree::Plain(element.clone()));
            }
            return;
        };
        let place = *self.records.entry(key).or_insert(self.items.len());
        if let Some(record) = self.items.get_mut(place) {
            merging.path.push(PointerPart::Index(place));
            record.merge(element, merging);
            merging.path.pop();
        } else {
            self.items.push(MergeTree::Plain(element.clone()));
        }
    }
}

/// The state of a merge of updates into a stored project contract: the path to the value that is being merged, and the
/// warnings so far.
#[derive(Debug, Default)]
struct Merging<'p> {
    path: Vec<PointerPart<'p>>,
    warnings: Vec<String>,
    warned: HashSet<String>,
    bytes: usize,
}

impl Merging<'_> {
    fn type_changed(&mut self) {
        if self.bytes > WARNINGS_BYTES_MAX {
            return;
        }
        let mut code = "TYPE_CHANGED:".to_owned();
        push_path(&mut code, &self.path);
        if !self.warned.contains(&code) {
            self.bytes += code.len();
            self.warned.insert(code.clone());
            self.warnings.push(code);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value {
        crate::json::parse(text).expect("JSON").to_value()
    }

    fn check(stored: &str, payload: &str, merged: &str, warnings: &[&str]) {
        let found = merge(&value(stored), &value(payload));
        assert!(found.value.same(&value(merged)), "{stored} and {payload} give {}", found.value);
        assert_eq!(found.warnings, warnings, "{stored} and {payload}");
    }

    #[test]
    fn pointers_go_through_records() {
        check(
            r#"{"s":[1,{"name":"a","p":80}]}"#,
            r#"{"s":[{"name":"a","p":"80"}]}"#,
            r#"{"s":[1,{"name":"a","p":"80"}]}"#,
            &["TYPE_CHANGED:/s/1/p"],
        );
        check("[1]", "{}", "{}", &["TYPE_CHANGED:"]);
    }

    #[test]
    fn of_several_records_the_first_counts() {
        let two = r#"{"s":[{"id":"a","v":1},{"id":"a","v":2}]}"#;
        check(two, r#"{"s":[{"id":"a","v":2,"w":1}]}"#, r#"{"s":[{"id":"a","v":2,"w":1},{"id":"a","v":2}]}"#, &[]);
        // An object whose `name` is not a string has no key by which it could be merged, even when it has an `id`.
        // Therefore it is added to the list.
        check(
            r#"{"s":[{"id":"a"}]}"#,
            r#"{"s":[{"id":"a","name":1}]}"#,
            r#"{"s":[{"id":"a"},{"id":"a","name":1}]}"#,
            &[],
        );
    }

    #[test]
    fn a_new_list_is_stored_as_given() {
        check("{}", r#"{"s":[1,1.0,{"name":"a"},{"name":"a"}]}"#, r#"{"s":[1,1.0,{"name":"a"},{"name":"a"}]}"#, &[]);
        check("null", r#"{"s":[1,1]}"#, r#"{"s":[1,1]}"#, &[]);
        check(r#"{"s":null}"#, r#"{"s":[1,1]}"#, r#"{"s":[1,1]}"#, &["TYPE_CHANGED:/s"]);
        check(r#"{"s":[1,1]}"#, r#"{"s":[1e0,2,2]}"#, r#"{"s":[1,1,2]}"#, &[]);
    }

    #[test]
    fn naming_one_record_often_is_not_a_search_each() {
        let records: Vec<String> =
            (0..20_000).map(|number| format!(r#"{{"name":"a","l":[{number}],"k{number}":1}}"#)).collect();
        let payload = value(&format!(r#"{{"s":[{}]}}"#, records.join(",")));
        let found = merge(&value(r#"{"s":[]}"#), &payload);
        let list = found.value.get("s").and_then(Value::as_list).and_then(|s| s.first()?.get("l")?.as_list());
        assert_eq!(list.map(<[Value]>::len), Some(20_000));
    }

    #[test]
    fn warnings_are_bounded_together() {
        let name = "n".repeat(9 << 20);
        let keys = |value: &str| (0..9).map(|key| format!(r#""k{key}":{value}"#)).collect::<Vec<_>>().join(",");
        let stored = value(&format!(r#"{{"{name}":{{{}}}}}"#, keys("1")));
        assert_eq!(merge(&stored, &value(&format!(r#"{{"{name}":{{{}}}}}"#, keys("true")))).warnings.len(), 2);
    }
}
