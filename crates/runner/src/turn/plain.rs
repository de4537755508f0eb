//! Builds the text for a program that gets its task as plain text: the goal, the acceptance criteria, notes of earlier
//! tasks, and everything that was said about the program's last turn.

use wire::message::Brief;

use super::brief::Resume;

/// Returns the task as plain text. Each part after the goal starts with a line that names the part.
pub(super) fn text(goal: &str, brief: Option<&Brief>, notes: &[String], resume: Option<&Resume>) -> String {
    let mut text = format!("{}\n", goal.trim_end());
    if let Some(brief) = brief {
        let criteria = brief.acceptance_criteria.0.iter().map(ToString::to_string);
        list(&mut text, "It is done when:", criteria);
    }
    list(&mut text, "Notes of the tasks before this one:", notes.iter().cloned());
    if let Some(resume) = resume {
        text.push_str(&format!("\n{}\n", resume.reason.trim_end()));
        for (code, message) in &resume.codes {
            text.push_str(&format!("- {code}: {}\n", message.trim_end()));
        }
        if let Some(answer) = &resume.answer {
            text.push_str(&format!("\nA person says:\n{}\n", answer.trim_end()));
        }
        if let Some(said) = resume.text.as_deref().map(str::trim).filter(|said| !said.is_empty()) {
            text.push_str(&format!("\nYou said last:\n{said}\n"));
        }
    }
    text
}

fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let lines: Vec<String> = items.map(|item| format!("- {item}\n")).collect();
    if !lines.is_empty() {
        text.push_str(&format!("\n{title}\n{}", lines.concat()));
    }
}

#[cfg(test)]
mod tests {
    use wire::message::judge_brief;

    use super::*;

    #[test]
    fn a_goal_alone_is_the_whole_text() {
        assert_eq!(text("Fix the login\n", None, &[], None), "Fix the login\n");
    }

    #[test]
    fn criteria_notes_and_answers_follow_the_goal() {
        let brief = r#"{"goal": "It greets.", "acceptance_criteria": ["It has a test.", "It is documented."],
            "output_contract": {"type": "file", "output_ref_required": false}}"#;
        let brief = judge_brief(brief.as_bytes()).value.unwrap();
        let resume = Resume {
            reason: "Your work was checked and failed.".to_owned(),
            codes: vec![("CHECK_FAILED".to_owned(), "`npm test` exited with 1\n".to_owned())],
            reviewer: None,
            text: Some("added greet()\n".to_owned()),
            answer: Some("Use src/valid.js".to_owned()),
        };
        let found = text("It greets.", Some(&brief), &["port 80 is free".to_owned()], Some(&resume));
        let wanted = "It greets.\n\nIt is done when:\n- It has a test.\n- It is documented.\n\n\
            Notes of the tasks before this one:\n- port 80 is free\n\nYour work was checked and failed.\n\
            - CHECK_FAILED: `npm test` exited with 1\n\nA person says:\nUse src/valid.js\n\nYou said last:\n\
            added greet()\n";
        assert_eq!(found, wanted);
    }
}
