//! Tests the errors about plan files with their lines, and the forms in which a plan may be written.

use super::*;

fn yaml(text: &str) -> Result<PlanFile, PlanProblems> {
    PlanFile::read(text, DocumentFormat::Yaml, &[])
}

fn told(text: &str, format: DocumentFormat) -> String {
    PlanFile::read(text, format, &[]).err().unwrap_or_else(|| panic!("accepted: {text}")).to_string()
}

const BRIEF: &str = "name: w
tasks:
  - name: a
    brief:
      goal: The page exists.
      acceptance_criteria: [It is shown.]
      output_contract:
        type: file
        output_ref_requird: true
        output_ref_required: false
";

#[test]
fn every_problem_of_a_yaml_plan_names_its_line() {
    let cases = [
        (
            "name: w\n\ntasks:\n  - name: a\n\n  - name: b\n    depend_on: [a]\n",
            "line 7: unknown key depend_on; did you mean depends_on?",
        ),
        ("name: w\ntask:\n  - a\n", "line 2: unknown key task; did you mean tasks?"),
        ("name: w\ncolour: red\ntasks: []\n", "line 2: unknown key colour; remove it"),
        (BRIEF, "line 9: unknown key output_ref_requird; did you mean output_ref_required?"),
        ("name: w\ntasks:\n  - name: a\n    priority: 9\n", "line 4: priority must be an integer from 1 to 3; found 9"),
        ("name: w\ntasks:\n  - name: a\n    touches: src\n", "line 4: touches must be an array; found \"src\""),
        (
            "name: w\ntasks:\n  - name: a\n    touches:\n      - src\n      - 7\n",
            "line 6: touches item 2 must be a string; found 7",
        ),
        (
            "name: w\ntasks:\n  - name: a\n    depends_on: {b: c}\n",
            "line 4: depends_on must be the name of a task or an array of such names; found {\"b\":\"c\"}",
        ),
        (
            "name: w\ntasks:\n  - 404\n",
            "line 3: tasks item 1 must be the name of a task or an object with `name`; found 404",
        ),
        (
            "name: w\ntasks:\n  - description: no name\n",
            "line 3: name is required and must be a string that is not blank",
        ),
        ("tasks:\n  - a\n", "name is required and must be a string that is not blank"),
        (
            "name: w\ntasks:\n  - Fix the login: keep the query\n",
            "line 3: name is required and must be a string that is not blank\n\
             line 3: unknown key Fix the login; if it is part of a text, put the whole text into quotes",
        ),
        (
            "name: w\ntasks:\n  - Build\n  - name: Test\n    after: Buld\n",
            "line 5: after names Buld, but the plan has no such task; did you mean Build?",
        ),
        (
            "name: w\ntasks:\n  - Build\n  - Build\n",
            "line 4: two tasks have the name Build; give each task its own name",
        ),
        ("- a\n", "a plan must have the keys `name`, and `tasks` with a list of tasks"),
    ];
    for (text, expected) in cases {
        assert_eq!(told(text, DocumentFormat::Yaml), expected, "{text}");
    }
    assert!(told("name: [\n", DocumentFormat::Yaml).contains("line 2"), "YAML itself is wrong");
    let cycle = "name: w\ntasks:\n  - {name: a, after: b}\n  - {name: b, after: a}\n";
    assert!(
        told(cycle, DocumentFormat::Yaml).contains("in a circle: a -> b -> a"),
        "{}",
        told(cycle, DocumentFormat::Yaml)
    );
}

#[test]
fn every_problem_of_a_json_plan_names_its_line() {
    let cases = [
        (
            "{\n  \"name\": \"w\",\n  \"tasks\": [\n    {\"name\": \"a\",\n     \"touch\": [\"src\"]}\n  ]\n}\n",
            "line 5: unknown key touch; did you mean touches?",
        ),
        (
            "{\n\t\"name\": \"w\",\n\t\"tasks\": [\n\t\t{\"name\": \"a\", \"gate\": \"yes\"}\n\t]\n}\n",
            "line 4: gate must be true or false; found \"yes\"",
        ),
        ("{\"name\": \"w\",\n \"taks\": []}", "line 2: unknown key taks; did you mean tasks?"),
    ];
    for (text, expected) in cases {
        assert_eq!(told(text, DocumentFormat::Json), expected, "{text}");
    }
    assert!(told("{\"name\": 'w'}", DocumentFormat::Json).starts_with("this is not JSON"));
}

#[test]
fn only_the_first_ten_of_many_problems_are_shown() {
    let text = format!("name: w\ntasks:\n{}", "  - name: a\n    x: 1\n".repeat(14));
    let told = told(&text, DocumentFormat::Yaml);
    assert_eq!(told.lines().count(), 11);
    assert!(told.starts_with("line 4: unknown key x") && told.ends_with("and 4 more problems"), "{told}");
}

#[test]
fn short_and_long_forms_of_a_plan_are_the_same_plan() {
    let short = "name: w\ntasks:\n  - Build\n  - name: Test\n    after: Build\n";
    let long = "name: w\nsummary: w\ntasks:\n  - name: Build\n  - name: Test\n    depends_on: [Build]\n";
    let json = r#"{"name": "w", "tasks": ["Build", {"name": "Test", "depends_on": "Build", "after": ["Build"]}]}"#;
    let planned = |text| yaml(text).unwrap_or_else(|problems| panic!("{problems}")).planned();
    assert_eq!(planned(short), planned(long));
    assert_eq!(planned(short), planned(json));
    assert_eq!(planned(short)[1].depends_on, ["Build"]);
}

#[test]
fn a_plan_is_split_into_the_workflow_and_its_tasks() {
    let text = "name: w\nsummary: s\ndescription: why\nmax_parallel_tasks: 2\nrisks: [r]\ntasks: [a]\n";
    let (create, plan) = yaml(text).unwrap_or_else(|problems| panic!("{problems}")).parts();
    assert_eq!(create.to_string(), r#"{"name":"w","max_parallel_tasks":2,"source_content":"why"}"#);
    assert_eq!(plan.to_string(), r#"{"summary":"s","risks":["r"],"tasks":[{"name":"a"}]}"#);
}

#[test]
fn variables_are_filled_wherever_they_stand() {
    let text =
        "name: the {{what}}\nvariables: [what, who]\ndefaults: {who: us}\ntasks:\n  - build {{what}} for {{who}}\n";
    let read = |pairs: &[(&str, &str)]| {
        let given: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        PlanFile::read(text, DocumentFormat::Yaml, &given)
    };
    let file = read(&[("what", "page")]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!((file.name(), file.tasks()[0].name.as_str()), ("the page", "build page for us"));
    let file = read(&[("what", "page"), ("who", "Ann")]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(file.tasks()[0].name.as_str(), "build page for Ann");
    let problem = |pairs| read(pairs).err().map(|problems| problems.to_string()).unwrap_or_default();
    assert_eq!(problem(&[]), "the plan needs a value for {{what}}: --var what=VALUE");
    assert_eq!(problem(&[("whom", "x")]), "the plan has no {{whom}}; check the name that you gave with --var");
}
