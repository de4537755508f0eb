//! Collects all keys that the settings parser knows and checks that each has a row in `keys::KEYS`, the table that says
//! which settings a person must accept.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;

use super::super::keys::{KEYS, KeyClass};
use crate::project::settings::{Settings, SettingsText};

#[test]
fn every_key_of_the_settings_is_classified() {
    let known: BTreeSet<String> = KEYS.iter().map(|row| row.key.to_owned()).collect();
    assert_eq!(known.len(), KEYS.len(), "a key stands there twice");
    assert_eq!(all_keys(), known);
}

/// Every setting must have an item in the list that a person accepts, except the settings of the class `AsksNothing`.
/// Without an item no person would see the setting.
#[test]
fn every_key_that_asks_is_in_the_list() {
    let settings: Settings = crate::project::settings::parse(
        r#"
        store = "postgres://db/x"
        worktrees = "../w"
        [serve]
        hosts = ["a"]
        origins = ["https://a"]
        [notify]
        command = ["true"]
        webhook = { url = "https://a/", secret_env = "A", allow = ["a:443"], private = true }
        [evaluator]
        agent = "quinn"
        [[agent]]
        slug = "quinn"
        adapter = "exec"
        command = ["sh"]
        args = ["-x"]
        model = "m"
        writable_sections = ["stack"]
        plans = true
        env = { A = "b" }
        keys = ["OPENAI_API_KEY"]
        works = true
        [worktree]
        setup = [{ command = ["npm", "ci"], folder = "web" }]
        copy = [".env"]
        [verify]
        checks = [{ command = ["make"], folder = "web" }]
        [env]
        pass = ["AWS_*"]
        drop = ["TERM"]
        [contract.code]
        schema = "contracts/code.json"
        checks = [{ command = ["make"] }]
        [[gate]]
        command = ["git"]
        decision = "ask"
        [[gate]]
        write = "a"
        decision = "ask"
        [mcp]
        coordinators = ["claude"]
        "#,
    )
    .unwrap();
    let list = super::super::TrustList::of(&settings, settings.store.as_deref(), &super::super::ScriptMarks::default());
    let mut shown: BTreeSet<&str> = list.0.iter().map(|item| item.key).collect();
    // The list that a person accepts has no separate items for these keys. It shows their values in the item of another
    // key.
    shown.extend(["agent.slug", "gate.decision", "worktree.setup.folder", "verify.checks.folder"]);
    shown.extend(["secret_file", "secret_env", "allow", "private"].map(|key| match key {
        "secret_file" => "notify.webhook.secret_file",
        "secret_env" => "notify.webhook.secret_env",
        "allow" => "notify.webhook.allow",
        _ => "notify.webhook.private",
    }));
    let asking: BTreeSet<&str> =
        KEYS.iter().filter(|row| row.class != KeyClass::AsksNothing).map(|row| row.key).collect();
    assert_eq!(shown, asking);
}

/// Returns all keys of the settings. Gives made-up values to the settings parser and follows every field that the
/// parser asks for. It does not matter that the parser may reject these values, because it names the fields of a
/// structure before it reads the values.
fn all_keys() -> BTreeSet<String> {
    let (mut open, mut keys) = (vec![Vec::<String>::new()], BTreeSet::new());
    while let Some(path) = open.pop() {
        let mut found = None;
        let spy = Spy { path: &path, found: &mut found };
        let _made_up: Result<SettingsText, Nothing> = serde::Deserialize::deserialize(spy);
        match found {
            Some(FoundKey::Fields(fields)) => {
                open.extend(fields.iter().map(|field| [path.clone(), vec![field.clone()]].concat()));
            }
            Some(FoundKey::Value) => {
                keys.insert(path.join("."));
            }
            None => panic!("the parser does not ask for {}", path.join(".")),
        }
    }
    keys
}

enum FoundKey {
    Fields(Vec<String>),
    Value,
}

/// A made-up settings document that has a single path of keys. It records which fields or values the parser expects at
/// the end of the path.
struct Spy<'a> {
    path: &'a [String],
    found: &'a mut Option<FoundKey>,
}

#[derive(Debug)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("made up")
    }
}

impl std::error::Error for Nothing {}

impl de::Error for Nothing {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self
    }
}

impl<'de> Deserializer<'de> for Spy<'_> {
    type Error = Nothing;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Nothing> {
        match self.path.split_first() {
            None => {
                *self.found = Some(FoundKey::Fields(fields.iter().map(|&field| field.to_owned()).collect()));
                Err(Nothing)
            }
            Some((field, rest)) => {
                let inner = Spy { path: rest, found: self.found };
                visitor.visit_map(One { key: Some(field.clone()), value: Some(inner) })
            }
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        match self.path.split_first() {
            None => {
                *self.found = Some(FoundKey::Fields(vec!["*".to_owned()]));
                Err(Nothing)
            }
            Some((_, rest)) => {
                // The keys of some maps in the settings are free names. The keys of other maps are the reasons why a
                // task is blocked. The key `ambiguity` is valid in both.
                let inner = Spy { path: rest, found: self.found };
                visitor.visit_map(One { key: Some("ambiguity".to_owned()), value: Some(inner) })
            }
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        let is_end = self.path.is_empty();
        let before = self.found.is_some();
        let spy = Spy { path: self.path, found: &mut *self.found };
        let read = visitor.visit_seq(Single(Some(spy)));
        // A setting that is a list of plain values counts as one value.
        if is_end && !before && self.found.is_none() {
            *self.found = Some(FoundKey::Value);
        }
        read
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Nothing> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Nothing> {
        *self.found = Some(FoundKey::Value);
        Err(Nothing)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

struct One<'a> {
    key: Option<String>,
    value: Option<Spy<'a>>,
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Nothing;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Nothing> {
        let Some(key) = self.key.take() else { return Ok(None) };
        let key: de::value::StringDeserializer<Nothing> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Nothing> {
        self.value.take().map_or(Err(Nothing), |spy| seed.deserialize(spy))
    }
}

struct Single<'a>(Option<Spy<'a>>);

impl<'de> SeqAccess<'de> for Single<'_> {
    type Error = Nothing;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Nothing> {
        self.0.take().map(|spy| seed.deserialize(spy)).transpose()
    }
}
