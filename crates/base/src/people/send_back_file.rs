//! Writes and reads the file in which a person writes remarks on a diff before they send a task back. The person's
//! remarks are the lines that begin with `>>`. A remark above the diff is about the whole work; a remark below a line
//! of the diff is about that line.

use engine::sent_back::SendBackNote;

/// The first characters of a line that a person wrote into the diff.
const REMARK: &str = ">>";

/// The remarks with which a person sends a task back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SendBackText {
    /// The person's remarks about the whole work.
    pub text: String,
    pub notes: Vec<SendBackNote>,
}

/// The place in the diff (file and line) to which the next remark belongs.
#[derive(Debug, Default)]
struct DiffPlace {
    file: Option<String>,
    /// The number of the last read line in the new version of the file. `None` outside of the changed parts.
    line: Option<u32>,
}

/// Returns the text of the file that a person edits: an explanation, an empty remark about the whole work, and the
/// diff.
pub fn template(title: &str, diff: &str) -> String {
    format!(
        "# {title}\n# Write what to change in lines that begin with {REMARK}. Above the diff they are about the whole \
         work;\n# below a line of the diff they are about that line. Without such a line nothing is sent.\n{REMARK} \
         \n\n{diff}"
    )
}

/// Reads a person's remarks from the edited file. The result is still correct when the person deleted or changed lines
/// of the diff.
pub fn parse(edited: &str) -> SendBackText {
    let mut found = SendBackText::default();
    let mut place = DiffPlace::default();
    let mut is_continued = false;
    for line in edited.lines() {
        let Some(said) = line.strip_prefix(REMARK) else {
            place.read(line);
            is_continued = false;
            continue;
        };
        let said = said.trim();
        if said.is_empty() {
            continue;
        }
        match (&place.file, is_continued, found.notes.last_mut()) {
            (None, _, _) => append(&mut found.text, said),
            // Remarks on several lines in a row are joined to one remark.
            (Some(_), true, Some(note)) => append(&mut note.text, said),
            (Some(file), _, _) => {
                found.notes.push(SendBackNote { file: file.clone(), line: place.line, text: said.to_owned() });
            }
        }
        is_continued = true;
    }
    found
}

impl SendBackText {
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.notes.is_empty()
    }

    /// Returns the remarks about the whole work. Without such remarks, returns a sentence that refers to the remarks
    /// about lines of the diff.
    pub fn whole(&self) -> String {
        match (self.text.as_str(), self.notes.len()) {
            ("", 1) => "Change what the remark says.".to_owned(),
            ("", count) => format!("Change what the {count} remarks say."),
            (text, _) => text.to_owned(),
        }
    }
}

impl DiffPlace {
    fn read(&mut self, line: &str) {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let file = names.rsplit_once(" b/").map_or(names, |(_, file)| file);
            (self.file, self.line) = (Some(file.to_owned()), None);
        } else if let Some(file) = line.strip_prefix("+++ b/").filter(|_| self.line.is_none()) {
            self.file = Some(file.to_owned());
        } else if let Some(numbers) = line.strip_prefix("@@ ") {
            // The numbers look like `-1,7 +1,9 @@`. The number after the plus is the first line of this hunk in the new
            // file.
            let first = numbers.split_once('+').and_then(|(_, new)| new.split([',', ' ']).next());
            self.line = first.and_then(|first| first.parse::<u32>().ok()).map(|first| first.saturating_sub(1));
        } else if (line.starts_with('+') || line.starts_with(' ') || line.is_empty())
            && let Some(number) = self.line.as_mut()
        {
            *number = number.saturating_add(1);
        }
    }
}

fn append(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/src/login.js b/src/login.js
index 1..2 100644
--- a/src/login.js
+++ b/src/login.js
@@ -10,3 +10,4 @@ function login() {
 a
-b
+c
+d
 e
@@ -40 +41,2 @@
 x
+y
diff --git a/old.txt b/new.txt
similarity index 90%
rename from old.txt
rename to new.txt
@@ -1 +1 @@
-1
+2
";

    /// Returns the diff with a remark after the line that is exactly `line`.
    fn after(line: &str, remark: &str) -> String {
        DIFF.replacen(&format!("\n{line}\n"), &format!("\n{line}\n{remark}\n"), 1)
    }

    #[test]
    fn a_remark_belongs_to_the_line_above_it() {
        for (line, file, number) in [
            (" a", "src/login.js", Some(10)),
            // A removed line has no number in the new file, so its remark gets the number of the line before it.
            ("-b", "src/login.js", Some(10)),
            ("+c", "src/login.js", Some(11)),
            ("+d", "src/login.js", Some(12)),
            (" e", "src/login.js", Some(13)),
            ("+y", "src/login.js", Some(42)),
            ("rename to new.txt", "new.txt", None),
            ("+2", "new.txt", Some(1)),
        ] {
            let found = parse(&template("1  Fix", &after(line, ">> use the check we have")));
            let text = "use the check we have".to_owned();
            let note = SendBackNote { file: file.to_owned(), line: number, text };
            assert_eq!(found, SendBackText { text: String::new(), notes: vec![note] }, "{line}");
        }
    }

    #[test]
    fn words_above_the_diff_are_about_the_whole_work_and_lines_in_a_row_are_one_remark() {
        let edited =
            format!("# a title\n>> no new regex\n>>\n>>please\n\n{}", after("+c", ">> one\n>> two\n+z\n>> three"));
        let found = parse(&edited);
        assert_eq!(found.text, "no new regex\nplease");
        let notes: Vec<(Option<u32>, &str)> = found.notes.iter().map(|note| (note.line, note.text.as_str())).collect();
        assert_eq!(notes, [(Some(11), "one\ntwo"), (Some(12), "three")]);
        assert_eq!(found.whole(), "no new regex\nplease");
    }

    #[test]
    fn an_unchanged_file_says_nothing() {
        let found = parse(&template("1  Fix", DIFF));
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn remarks_without_words_about_the_whole_get_a_sentence() {
        let found = parse(&after("+c", ">> one"));
        assert_eq!(found.whole(), "Change what the remark says.");
        let found = parse(&after("+c", ">> one").replace("+y\n", "+y\n>> two\n"));
        assert_eq!(found.whole(), "Change what the 2 remarks say.");
    }
}
