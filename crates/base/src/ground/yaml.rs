//! Reads YAML into JSON values, because people write plans and templates in YAML.

mod size;

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, Yaml, YamlData};
use wire::json::{Number, Object, Value};

/// Parses a text with one YAML document into a JSON value. Keys must be unique texts. An alias is replaced by its
/// value, and a value that cannot be read is an error.
pub fn parse(text: &str) -> Result<Value, String> {
    size::check(text)?;
    let documents = Yaml::load_from_str(text).map_err(|error| error.to_string())?;
    match documents.as_slice() {
        [one] => value(one, 0),
        [] => Err("the YAML is empty".to_owned()),
        [_, ..] => Err("the YAML has more than one document; keep one".to_owned()),
    }
}

/// The deepest nesting of a YAML document that is accepted; a deeper document is an error. A plan needs far less.
const DEPTH_MAX: usize = 128;

fn value(node: &Yaml<'_>, depth: usize) -> Result<Value, String> {
    if depth > DEPTH_MAX {
        return Err(format!("the YAML is nested more than {DEPTH_MAX} levels deep"));
    }
    match node {
        Yaml::Value(Scalar::Null) => Ok(Value::Null),
        Yaml::Value(Scalar::Boolean(yes)) => Ok((*yes).into()),
        Yaml::Value(Scalar::Integer(number)) => Ok(Value::Number((*number).into())),
        Yaml::Value(Scalar::FloatingPoint(number)) => {
            Number::try_from(number.into_inner()).map(Value::Number).map_err(|_| format!("{number} is not a number"))
        }
        Yaml::Value(Scalar::String(text)) => Ok(text.as_ref().into()),
        Yaml::Sequence(items) => {
            items.iter().map(|item| value(item, depth + 1)).collect::<Result<_, _>>().map(Value::List)
        }
        Yaml::Mapping(members) => {
            let mut object = Object::new();
            for (key, member) in members {
                let Yaml::Value(Scalar::String(name)) = key else {
                    return Err("the YAML has a key that is not a text; put it into quotes".to_owned());
                };
                object.push((name.to_string(), value(member, depth + 1)?));
            }
            Ok(Value::Object(object))
        }
        Yaml::Tagged(_, inner) => value(inner, depth + 1),
        Yaml::Representation(text, ..) => Ok(text.as_ref().into()),
        Yaml::Alias(_) | Yaml::BadValue => Err("the YAML has a value that cannot be read".to_owned()),
    }
}

/// Returns every JSON pointer (path of keys) of a YAML document with its line, counted from 1. Returns an empty list
/// for a text that cannot be parsed.
pub fn lines(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    if let Ok(documents) = MarkedYaml::load_from_str(text)
        && let Some(first) = documents.first()
    {
        walk(first, String::new(), first.span.start.line(), &mut found);
    }
    found
}

fn walk(node: &MarkedYaml<'_>, pointer: String, line: usize, found: &mut Vec<(String, usize)>) {
    match &node.data {
        YamlData::Sequence(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, format!("{pointer}/{index}"), item.span.start.line(), found);
            }
        }
        YamlData::Mapping(members) => {
            for (key, member) in members {
                let YamlData::Value(Scalar::String(name)) = &key.data else { continue };
                let name = name.replace('~', "~0").replace('/', "~1");
                walk(member, format!("{pointer}/{name}"), key.span.start.line(), found);
            }
        }
        YamlData::Representation(..)
        | YamlData::Value(_)
        | YamlData::Tagged(..)
        | YamlData::Alias(_)
        | YamlData::BadValue => {}
    }
    found.push((pointer, line));
}
