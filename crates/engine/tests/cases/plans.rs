//! Reads the plans of a test script, which are written as `one; two after one; three after one two priority=1
//! touches=src/**`.

use engine::Json;
use engine::plan::PlanTask;
use engine::task::Priority;

use crate::bench::Bench;

/// Reads the tasks of a plan. `x1..x40` means forty tasks. The dependencies after the word `after` can have this form,
/// too.
pub(crate) fn tasks(bench: &mut Bench, text: &str) -> Result<Vec<PlanTask>, String> {
    let mut tasks = Vec::new();
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let mut words = part.split_whitespace();
        let names = range(words.next().unwrap_or_default())?;
        let shape = shape(bench, words)?;
        tasks.extend(names.into_iter().map(|name| PlanTask { name, ..shape.clone() }));
    }
    Ok(tasks)
}

fn shape<'t>(bench: &mut Bench, words: impl Iterator<Item = &'t str>) -> Result<PlanTask, String> {
    let mut task = PlanTask::named("");
    let list = |value: &str| value.split(',').map(str::to_owned).collect::<Vec<_>>();
    for word in words {
        let word = word.replace("\\0", "\0");
        let (name, value) = word.split_once('=').unwrap_or((&word, ""));
        match name {
            "after" => {}
            "verify" => task.verify = true,
            "review" => task.review = true,
            "gate" => task.gate = true,
            "limited" => task.limited = true,
            "priority" => {
                let number: u8 = value.parse().map_err(|_| "priority is a number")?;
                task.priority = Priority::try_from(number).map_err(str::to_owned)?;
            }
            "attempts" => task.attempts_max = value.parse().map_err(|_| "attempts is a number")?,
            "role" => task.role = Some(value.to_owned()),
            "can" => task.capabilities = expanded(&list(value))?,
            "touches" => task.touches = expanded(&list(value))?,
            "group" => task.group = Some(value.to_owned()),
            "from" => task.context_from = list(value),
            "description" => task.description = Some(value.to_owned()),
            "brief" => task.brief = Some(Json::from_stored(value.to_owned())),
            "repository" => task.repository = Some(bench.repository(value)),
            other if value.is_empty() => {
                // A plain word is the name of a dependency. A dependency by id is written as `=name`.
                task.depends_on.extend(range(other)?);
            }
            "" => task.depends_on.push(bench.task(value).to_string()),
            other => return Err(format!("a task has no {other}")),
        }
    }
    Ok(task)
}

fn expanded(names: &[String]) -> Result<Vec<String>, String> {
    let ranges = names.iter().map(|name| range(name)).collect::<Result<Vec<_>, _>>()?;
    Ok(ranges.into_iter().flatten().collect())
}

/// Expands `x1..x3` to `x1`, `x2`, `x3`; any other text stays one name. A dash stands for a blank name, `\0` for a zero
/// byte.
fn range(text: &str) -> Result<Vec<String>, String> {
    let Some((from, to)) = text.split_once("..") else {
        return Ok(vec![if text == "-" { String::new() } else { text.replace("\\0", "\0") }]);
    };
    let letters = from.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let number = |text: &str| text.trim_start_matches(letters).parse::<u32>().map_err(|_| format!("{text}: no number"));
    Ok((number(from)?..=number(to)?).map(|number| format!("{letters}{number}")).collect())
}
