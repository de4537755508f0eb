//! Reads the option tables of programs from the text files in the folder `tables`.
//!
//! An option table says which options a program has, which of them take a value, and what a value means. A new program
//! or option needs no code, only a line in one of the files `tables/*.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// The texts of all option tables, in the order in which they are searched for a program. The flag is true for the
/// texts about development tools.
const TEXTS: [(&str, bool); 8] = [
    (include_str!("tables/files.txt"), false),
    (include_str!("tables/archives.txt"), false),
    (include_str!("tables/network.txt"), false),
    (include_str!("tables/toolchains.txt"), true),
    (include_str!("tables/builders.txt"), true),
    (include_str!("tables/git.txt"), false),
    (include_str!("tables/wrappers.txt"), false),
    (include_str!("tables/listing.txt"), false),
];
/// The approximate number of names in the option tables. The map of the names gets this capacity, so that it does not
/// grow step by step.
const NAMES_EXPECTED: usize = 1_000;
const PLAIN: &str = include_str!("tables/plain.txt");
const INTERPRETERS: &str = include_str!("tables/interpreters.txt");
const VERBS: &str = include_str!("tables/verbs.txt");

/// The options of one program, and the meaning of its operands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramTable {
    /// The value of the line `does` in the option table. It says what the program does with its operands.
    pub(crate) does: String,
    pub(crate) style: OptionStyle,
    options: Vec<KnownOption>,
    /// Sub-commands of the program that only read the folder where it works: `plan` of terraform.
    reads: Vec<&'static str>,
    /// Sub-commands of the program that change hooks, or settings of git or of an agent: `install` of pre-commit.
    guards: Vec<&'static str>,
}

/// One spelling of an option, such as `-o` or `--output`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownOption {
    /// The name of the option with its dashes, such as `-o` or `--output`.
    pub(crate) name: &'static str,
    pub(crate) takes: ValueNeed,
    pub(crate) effect: OptionEffect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueNeed {
    Never,
    /// The value is in the same word as the option (`-ofile`) or in the next word (`-o file`).
    Always,
    /// The value, if there is one, is in the same word as the option.
    Attached,
    /// The value is in the same word as the option and has only digits. Other option letters may follow the digits.
    Digits,
}

/// The effect of an option on files and commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptionEffect {
    Nothing,
    /// The value of the option is a file that the program writes.
    Write,
    /// The value of the option is a folder, and the program writes files below it.
    Tree,
    /// The value of the option is a command that the program runs.
    Run,
    /// The value of the option is the folder where the program works.
    Folder,
    /// The value of the option is a folder, or a file in that folder. The program runs or writes the files that it
    /// finds in the folder.
    Place,
    /// The value of the option is a setting of git, as in `git -c key=value`.
    Setting,
    /// The option runs something that the gate cannot see. So a person must approve the command, unless a gate rule
    /// names the program.
    Asks,
    /// The option may write or run something. The gate treats it like an option that the option table does not have.
    Doubt,
}

/// The way in which a program spells its options.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one word of the line `style`, and they are combined freely")]
pub(crate) struct OptionStyle {
    /// True if the program reads no options after the first operand, as `sudo` does.
    pub(crate) stop: bool,
    /// True if the program has, for each option `--x`, an option `--no-x` that turns `--x` off.
    pub(crate) negates: bool,
    /// True if a number with a dash, such as `-5`, is an option of the program.
    pub(crate) numbers: bool,
    /// True if options that are missing in the option table have no effect that matters to a gate.
    pub(crate) loose: bool,
    /// True if the program may run or write more than its words show.
    pub(crate) opaque: bool,
    /// True if the options of the program are whole words after one dash: `-out file`.
    pub(crate) words: bool,
    /// True if the first word after the program's name may be option letters without a dash: `tar xf a`.
    pub(crate) tar: bool,
    /// True if a word that begins with a dash may be a file mode: `chmod -x file`.
    pub(crate) modes: bool,
    /// True if a program that runs another command, as `sudo` does, has effects of its own too.
    pub(crate) matters: bool,
    /// True if the gate judges only the program's writes to known paths. Such a program always writes some files that
    /// its words do not name, so its writes to unknown paths are ignored.
    pub(crate) literal: bool,
    /// True if the program runs or writes what it finds in the folder where it works, as make does.
    pub(crate) works: bool,
    /// True if every operand is a sub-command of the program, as the targets of make are.
    pub(crate) targets: bool,
    /// True if an operand may name a part of the project by the folder of that part: `infra` of `gradle :infra:build`.
    pub(crate) members: bool,
}

impl ProgramTable {
    /// Returns the option of this name. A long option may be abbreviated if only one option fits the abbreviation, or
    /// if all options that fit have the same effect.
    pub(crate) fn option(&self, name: &str) -> Option<KnownOption> {
        if let Some(exact) = self.options.iter().find(|option| option.name == name) {
            return Some(*exact);
        }
        if !name.starts_with("--") || name.len() < 3 {
            return None;
        }
        let mut found = self.options.iter().filter(|option| option.name.starts_with(name));
        let first = *found.next()?;
        // If the abbreviation fits several options that all take the same kind of value and have the same effect, the
        // first of these options is returned.
        found.all(|other| (other.takes, other.effect) == (first.takes, first.effect)).then_some(first)
    }

    /// Tells whether the program has an option of exactly this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|option| option.name == name)
    }

    /// Tells whether the program has an option that may write, run or change something. An option that only names the
    /// folder where the program works does not count.
    pub(crate) fn reaches(&self) -> bool {
        let nothing = |effect| matches!(effect, OptionEffect::Nothing | OptionEffect::Folder | OptionEffect::Place);
        self.options.iter().any(|option| !nothing(option.effect))
    }

    /// Returns the names of the options whose value is the folder where the program works.
    pub(crate) fn folder_options(&self) -> impl Iterator<Item = &'static str> {
        self.options.iter().filter(|option| option.effect == OptionEffect::Folder).map(|option| option.name)
    }

    /// Tells whether a sub-command of the program only reads the folder where the program works. A dot at the end of
    /// `command`, as in `version.`, means that no operand follows the sub-command.
    pub(crate) fn only_reads(&self, command: &str) -> bool {
        self.reads.contains(&command)
    }

    /// Tells whether a sub-command of the program changes hooks, or settings of git or of an agent. `*` in the
    /// program's option table means that every call of the program does so, even without a sub-command.
    pub(crate) fn changes_guarded(&self, command: Option<&str>) -> bool {
        self.guards.contains(&"*") || command.is_some_and(|command| self.guards.contains(&command))
    }

    /// Tells whether an option such as `--no-x` turns another option of the program (`--x`) off. The name may be
    /// abbreviated.
    pub(crate) fn negates(&self, name: &str) -> bool {
        self.style.negates
            && name.strip_prefix("--no-").is_some_and(|rest| {
                self.options
                    .iter()
                    .any(|option| option.name.strip_prefix("--").is_some_and(|name| name.starts_with(rest)))
            })
    }

    /// Returns every option in the option table of a program.
    #[cfg(test)]
    pub(crate) fn options(&self) -> &[KnownOption] {
        &self.options
    }
}

/// Returns the option table of a program, by the last part of the program's path. The name may end with a version
/// (`perl5.36`), or begin with the `g` that some systems put before the names of GNU programs (`gtouch`).
pub(crate) fn find(program: &str) -> Option<&'static ProgramTable> {
    let program = released(program);
    let versioned = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    exactly(program).or_else(|| exactly(versioned)).or_else(|| exactly(program.strip_prefix('g')?))
}

/// Returns the name of a program without the version or the registry that package runners accept with it: `husky` for
/// `husky@9`, `npm:husky` and `nixpkgs#husky`.
fn released(program: &str) -> &str {
    let end = program.find('@').filter(|at| *at > 0).unwrap_or(program.len());
    let name = &program[..end];
    let name = name.strip_prefix("npm:").unwrap_or(name);
    name.rsplit('#').next().unwrap_or(name)
}

/// Returns the option table of exactly this program name. Each table is parsed at its first use.
pub(crate) fn exactly(program: &str) -> Option<&'static ProgramTable> {
    let entry = index().get(program)?;
    entry.table.get_or_init(|| read(entry.block)).as_ref()
}

/// The entry for one name of a program in the index of all option tables.
struct IndexEntry {
    /// The text of the option table, from its line `program` to the end of the file.
    block: &'static str,
    /// True if the program is a development tool: its option table is in the file for toolchains or for builders.
    tool: bool,
    table: OnceLock<Option<ProgramTable>>,
}

/// Returns the names of all programs with their option tables. The table texts are searched once, because every tool
/// call waits for this function.
fn index() -> &'static HashMap<&'static str, IndexEntry> {
    static INDEX: OnceLock<HashMap<&'static str, IndexEntry>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut found = HashMap::with_capacity(NAMES_EXPECTED);
        for (tool, block) in blocks() {
            for name in names(block) {
                let entry = found.entry(name).or_insert(IndexEntry { block, tool, table: OnceLock::new() });
                entry.tool |= tool;
            }
        }
        found
    })
}

/// Returns every option table with all names of its program.
#[cfg(test)]
pub(crate) fn all() -> Vec<(Vec<&'static str>, &'static ProgramTable)> {
    blocks().filter_map(|(_, block)| Some((names(block).collect(), exactly(names(block).next()?)?))).collect()
}

/// Returns the text of every option table, and whether it is about a development tool. The text begins with the line
/// `program` of the table, and reaches to the end of the file.
fn blocks() -> impl Iterator<Item = (bool, &'static str)> {
    TEXTS.iter().flat_map(|(text, tool)| {
        let mut left = *text;
        std::iter::from_fn(move || {
            loop {
                let start = left;
                let end = left.find('\n')?;
                left = &left[end + 1..];
                if start.starts_with("program ") {
                    return Some((*tool, start));
                }
            }
        })
    })
}

fn names(block: &'static str) -> impl Iterator<Item = &'static str> {
    block.lines().next().unwrap_or_default().split(' ').skip(1)
}

fn read(block: &'static str) -> Option<ProgramTable> {
    let mut table = ProgramTable::default();
    for line in block.lines().skip(1).take_while(|line| line.starts_with("  ")) {
        let (kind, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        match kind {
            "does" => table.does = rest.to_owned(),
            "style" => table.style = style(rest),
            // The line `like tar` in an option table adds the options of tar after the program's own options.
            "like" => table.options.extend(read(index().get(rest)?.block)?.options),
            "reads" => table.reads.extend(rest.split(' ')),
            "guards" => table.guards.extend(rest.split(' ')),
            _ => {
                let (takes, effect) = meaning(kind)?;
                table.options.extend(rest.split(' ').map(|name| KnownOption { name, takes, effect }));
            }
        }
    }
    Some(table)
}

fn style(words: &str) -> OptionStyle {
    let has = |wanted: &str| words.split(' ').any(|word| word == wanted);
    OptionStyle {
        stop: has("stop"),
        negates: has("negates"),
        numbers: has("numbers"),
        loose: has("loose"),
        opaque: has("opaque"),
        words: has("words"),
        tar: has("tar"),
        modes: has("modes"),
        matters: has("matters"),
        literal: has("literal"),
        works: has("works"),
        targets: has("targets"),
        members: has("members"),
    }
}

fn meaning(kind: &str) -> Option<(ValueNeed, OptionEffect)> {
    Some(match kind {
        "flag" => (ValueNeed::Never, OptionEffect::Nothing),
        "value" => (ValueNeed::Always, OptionEffect::Nothing),
        "maybe" => (ValueNeed::Attached, OptionEffect::Nothing),
        "digits" => (ValueNeed::Digits, OptionEffect::Nothing),
        "write" => (ValueNeed::Always, OptionEffect::Write),
        "write-maybe" => (ValueNeed::Attached, OptionEffect::Write),
        "tree" => (ValueNeed::Always, OptionEffect::Tree),
        "run" => (ValueNeed::Always, OptionEffect::Run),
        "chdir" => (ValueNeed::Always, OptionEffect::Folder),
        "place" => (ValueNeed::Always, OptionEffect::Place),
        "config" => (ValueNeed::Always, OptionEffect::Setting),
        "asks" => (ValueNeed::Never, OptionEffect::Asks),
        "asks-value" => (ValueNeed::Always, OptionEffect::Asks),
        "doubt" => (ValueNeed::Never, OptionEffect::Doubt),
        "doubt-value" => (ValueNeed::Always, OptionEffect::Doubt),
        "doubt-maybe" => (ValueNeed::Attached, OptionEffect::Doubt),
        _ => return None,
    })
}

fn lists(text: &str, name: &str) -> bool {
    text.lines().filter(|line| !line.starts_with('#')).any(|line| line.split(' ').any(|word| word == name))
}

/// Tells whether a program is a development tool: a toolchain, a builder or an interpreter. If such a name is an
/// argument of another program, that program probably runs the tool: `poetry run black src`.
pub(crate) fn is_tool(program: &str) -> bool {
    // These program names are also common words, so an argument of that name is probably not a program.
    let common = ["go", "just", "task", "R", "scalar", "view", "amp", "convert", "fab", "inv", "pants", "please"];
    let program = released(program);
    let is_listed = || index().get(program).is_some_and(|entry| entry.tool);
    !common.contains(&program) && (is_listed() || is_interpreter(program))
}

/// Tells whether a program, such as `echo`, neither runs nor writes anything that its arguments name.
pub(crate) fn is_plain(program: &str) -> bool {
    lists(PLAIN, program)
}

/// A kind of sub-commands in the list `tables/verbs.txt`, which is for programs without an option table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// The sub-command only reads the folder where the program works: `foo list`.
    Reads,
    /// The sub-command writes the files that its operands name: `foo init folder`.
    Writes,
}

/// Tells whether a word is a sub-command of the given kind in programs without an option table: `list` reads, and
/// `init` writes.
pub(crate) fn is_verb(kind: CommandKind, word: &str) -> bool {
    let start = match kind {
        CommandKind::Reads => "reads ",
        CommandKind::Writes => "writes ",
    };
    VERBS.lines().filter_map(|line| line.strip_prefix(start)).any(|line| line.split(' ').any(|verb| verb == word))
}

/// Tells whether a program works on a remote service, as kubectl does. Such a program only reads the files that its
/// operands name.
pub(crate) fn is_remote(program: &str) -> bool {
    VERBS
        .lines()
        .filter_map(|line| line.strip_prefix("remote "))
        .any(|line| line.split(' ').any(|name| name == program))
}

/// Tells whether a program is an interpreter, that is, runs a script, a text or its standard input.
pub(crate) fn is_interpreter(program: &str) -> bool {
    let bare = program.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    lists(INTERPRETERS, program) || lists(INTERPRETERS, bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_read_and_names_each_option_once() {
        let mut programs = 0;
        for (_, block) in blocks() {
            for name in names(block) {
                let table = read(block).unwrap_or_else(|| panic!("the table of {name} has a line of an unknown kind"));
                assert!(!table.does.is_empty(), "{name} has no line `does`");
                assert!(crate::programs::effect::knows(&table.does), "{name}: nothing reads {:?}", table.does);
                programs += 1;
            }
            let own: Vec<&str> = block
                .lines()
                .skip(1)
                .take_while(|line| line.starts_with("  "))
                .filter(|line| {
                    !["does", "style", "like", "reads", "guards"].iter().any(|kind| line.trim().starts_with(kind))
                })
                .flat_map(|line| line.split(' ').skip(3))
                .collect();
            let mut sorted = own.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), own.len(), "{} names an option twice", block.lines().next().unwrap_or_default());
        }
        assert!(programs > 150, "{programs} programs");
    }

    #[test]
    fn abbreviations_mean_the_only_option_they_begin() {
        let curl = find("curl").expect("a table");
        assert_eq!(curl.option("--dump-he").map(|option| option.name), Some("--dump-header"));
        assert_eq!(curl.option("--output").map(|option| option.effect), Some(OptionEffect::Write));
        // `--outpu` may stand for `--output`, which names a file, or for `--output-dir`, which names a folder. curl
        // refuses such an abbreviation, so its option table must not find an option for it.
        assert_eq!(curl.option("--outpu"), None);
        assert_eq!(curl.option("--nothing"), None);
        assert!(curl.negates("--no-progress-meter") && !curl.negates("--now"));
    }
}
