//! Reads lists, pipes and blocks of a command text: which commands run, in which order and in which folders.

use brush_parser::ast::{self, SourceLocation as _};

use super::{CommandWalk, StandardInput, WalkScope};
use crate::command::CommandFolders;
use crate::programs::program;
use crate::shell::script::{ProgramText, RESERVED};

/// Tells whether bash may read a `coproc` differently from `brush-parser`. After `coproc`, bash accepts neither a line
/// end nor a second `coproc`, and it takes `coproc name if …` as a block with a name. `brush-parser` takes `name if …`
/// as a command.
fn is_misread(process: &ast::CoprocessCommand) -> bool {
    let is_keyword = |word: &ast::Word| RESERVED.contains(&word.value.as_str());
    let other_line = process.body.location().is_none_or(|body| body.start.line != process.loc.start.line);
    // bash refuses `coproc { ( x )`, because its brace is not closed. `brush-parser` takes the brace as the name of the
    // process.
    if process.name.as_ref().is_some_and(is_keyword) {
        return true;
    }
    let ast::Command::Simple(simple) = process.body.as_ref() else {
        return other_line || is_coprocess(&process.body);
    };
    let first = simple.suffix.as_ref().and_then(|suffix| suffix.0.first());
    other_line || matches!(first, Some(ast::CommandPrefixOrSuffixItem::Word(word)) if is_keyword(word))
}

fn is_coprocess(command: &ast::Command) -> bool {
    matches!(command, ast::Command::Compound(ast::CompoundCommand::Coprocess(_), _))
}

/// The possible folders of a shell after a command: `well` if the command succeeded, `ill` if it failed.
struct After {
    well: CommandFolders,
    ill: CommandFolders,
}

impl After {
    fn both(folders: &CommandFolders) -> Self {
        Self { well: folders.clone(), ill: folders.clone() }
    }
}

impl CommandWalk {
    pub(super) fn list(&mut self, list: &ast::CompoundList, script: &ProgramText, scope: &mut WalkScope) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            match separator {
                ast::SeparatorOperator::Sequence => self.and_or(and_or, script, scope),
                ast::SeparatorOperator::Async => self.and_or(and_or, script, &mut scope.clone()),
            }
        }
    }

    fn and_or(&mut self, list: &ast::AndOrList, script: &ProgramText, scope: &mut WalkScope) {
        let mut after = self.pipeline(&list.first, script, scope);
        let mut set = scope.set.clone();
        for next in &list.additional {
            let from = match next {
                ast::AndOr::And(_) => after.well.clone(),
                ast::AndOr::Or(_) => after.ill.clone(),
            };
            let (ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline)) = next;
            // In a list such as `a && b || c`, the command after `||` runs when an earlier command failed. The commands
            // between the failed command and `||` did not run. Only the first command of the list certainly ran. So a
            // variable certainly has a value only if the first command sets it, or if it was set before the list.
            if matches!(next, ast::AndOr::Or(_)) {
                set.clone_from(&scope.set);
            }
            let mut within = WalkScope { folders: from, set: set.clone(), ..scope.clone() };
            let then = self.pipeline(pipeline, script, &mut within);
            set = match next {
                ast::AndOr::And(_) => within.set,
                // The command after `||` may be skipped. Then the variables that it sets have no value in the commands
                // after it.
                ast::AndOr::Or(_) => set.intersection(&within.set).cloned().collect(),
            };
            after = match next {
                ast::AndOr::And(_) => After { well: then.well, ill: after.ill.and(then.ill) },
                ast::AndOr::Or(_) => After { well: after.well.and(then.well), ill: then.ill },
            };
        }
        scope.folders = after.well.and(after.ill);
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, script: &ProgramText, scope: &mut WalkScope) -> After {
        let before = scope.folders.clone();
        let mut after = After::both(&before);
        match pipeline.seq.as_slice() {
            // A pipeline without any command is a lone `!`.
            [] => self.ask("a pipe without a command"),
            [only] => after = self.one(only, script, scope),
            many => {
                let mut last = scope.clone();
                let mut printed: Vec<String> = Vec::new();
                for (number, command) in many.iter().enumerate() {
                    last = scope.clone();
                    if number > 0 {
                        last.input = StandardInput::Pipe { printed: printed.clone(), listed: self.listed.take() };
                    }
                    self.printed.clear();
                    self.listed = None;
                    self.one(command, script, &mut last);
                    printed.append(&mut self.printed);
                }
                // Some shells run the last command of a pipe in the shell itself. So if that command changes the
                // folder, the shell may stay in the new folder.
                after = After::both(&before.and(last.folders));
            }
        }
        if pipeline.bang {
            return After { well: after.ill, ill: after.well };
        }
        after
    }

    fn one(&mut self, command: &ast::Command, script: &ProgramText, scope: &mut WalkScope) -> After {
        let before = scope.folders.clone();
        match command {
            ast::Command::Simple(simple) => {
                self.simple(simple, script, scope);
                // Only a command that changes the folder, such as `cd`, leaves different folders after success and
                // after failure.
                if scope.folders != before {
                    return After { well: scope.folders.clone(), ill: before };
                }
            }
            ast::Command::Compound(compound, redirects) => {
                self.redirects(redirects.as_ref(), script, scope);
                self.compound(compound, script, scope);
            }
            ast::Command::Function(function) => self.function(function, script, scope),
            ast::Command::ExtendedTest(test, redirects) => {
                self.redirects(redirects.as_ref(), script, scope);
                self.test(&test.expr, script, scope);
            }
        }
        After::both(&scope.folders)
    }

    fn compound(&mut self, compound: &ast::CompoundCommand, script: &ProgramText, scope: &mut WalkScope) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list, script, scope),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list, script, &mut scope.clone()),
            ast::CompoundCommand::IfClause(clause) => self.choice(clause, script, scope),
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value, script, scope);
                let mut end = scope.folders.clone();
                for item in &clause.cases {
                    for pattern in &item.patterns {
                        self.word(pattern, script, scope);
                    }
                    let mut within = scope.clone();
                    // If the item before this one in `case` ends with `;&`, bash continues with this item. So this item
                    // may start in any folder in which an earlier item ended.
                    within.folders = within.folders.and(end.clone());
                    if let Some(list) = &item.cmd {
                        self.list(list, script, &mut within);
                    }
                    end = end.and(within.folders);
                }
                scope.folders = end;
            }
            ast::CompoundCommand::ForClause(clause) => {
                let words: Vec<&ast::Word> = clause.values.iter().flatten().collect();
                for word in &words {
                    self.word(word, script, scope);
                }
                let variable = Self::text_of(&clause.variable_name, script);
                let known = |word: &&ast::Word| {
                    script.words.get(&word.value).is_some_and(crate::shell::word::ShellWord::is_number)
                };
                let numbers = !words.is_empty() && words.iter().all(known);
                self.looped(&variable, numbers);
                let values = words.iter().map(|word| script.words.get(&word.value));
                let values = values.map(|word| word.map(|word| (word, self.spot(word, scope))));
                let values: Vec<_> = values.collect();
                self.values.loop_over(&variable, clause.values.is_some().then_some(values));
                let mut within = scope.clone();
                within.set.insert(variable.clone());
                let body = |walk: &mut Self, scope: &mut WalkScope| walk.list(&clause.body.list, script, scope);
                self.repeated(|walk, scope| walk.each_round(&variable, scope, &body), &mut within);
                scope.folders = within.folders;
            }
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                let ast::WhileOrUntilClauseCommand(condition, body, _) = clause;
                let run = |walk: &mut Self, scope: &mut WalkScope| {
                    walk.list(condition, script, scope);
                    walk.list(&body.list, script, scope);
                };
                self.repeated(run, scope);
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts.into_iter().flatten().for_each(|part| self.computation(&part.value));
                self.repeated(|walk, scope| walk.list(&clause.body.list, script, scope), scope);
            }
            ast::CompoundCommand::Arithmetic(command) => self.computation(&command.expr.value),
            ast::CompoundCommand::Coprocess(process) => {
                if is_misread(process) {
                    self.ask("a `coproc` whose command is on another line or begins with a keyword");
                }
                if let Some(name) = &process.name {
                    self.word(name, script, scope);
                }
                self.one(&process.body, script, &mut scope.clone());
            }
        }
    }

    /// Checks a computation that `brush-parser` found. The reader of this crate, which prepares the text for
    /// `brush-parser`, puts `_` in place of each computation that it finds. If another text is there, the reader took
    /// it for subshells, so the command text needs a person's approval.
    fn computation(&mut self, text: &str) {
        if !matches!(text.trim(), "_" | "") {
            self.ask("parentheses that are a computation to one reader and subshells to another");
        }
    }

    fn choice(&mut self, clause: &ast::IfClauseCommand, script: &ProgramText, scope: &mut WalkScope) {
        self.list(&clause.condition, script, scope);
        let mut then = scope.clone();
        self.list(&clause.then, script, &mut then);
        let mut end = then.folders;
        for part in clause.elses.iter().flatten() {
            if let Some(condition) = &part.condition {
                self.list(condition, script, scope);
            }
            let mut within = scope.clone();
            self.list(&part.body, script, &mut within);
            end = end.and(within.folders);
        }
        scope.folders = std::mem::replace(&mut scope.folders, CommandFolders::Unknown).and(end);
    }

    /// Reads the body of a loop, which may run more than once. If the body changes the folder, each round may start in
    /// another folder, so the folder is then unknown.
    fn repeated(&mut self, run: impl Fn(&mut Self, &mut WalkScope), scope: &mut WalkScope) {
        let (before, set) = (scope.folders.clone(), scope.set.clone());
        let first = self.found.writes.len();
        run(self, scope);
        scope.set = set;
        if scope.folders != before {
            self.found.writes[first..].iter_mut().for_each(|write| write.folders = CommandFolders::Unknown);
            scope.folders = CommandFolders::Unknown;
        }
    }

    /// Reads the definition of a shell function. The function runs in the folder of its caller. The gate does not look
    /// at the calls of the function, so this folder counts as unknown.
    fn function(&mut self, function: &ast::FunctionDefinition, script: &ProgramText, scope: &mut WalkScope) {
        if function.fname.value.contains('=') {
            self.ask("a function whose name looks like an assignment, which bash refuses");
        }
        match self.word(&function.fname, script, scope).text {
            Some(name) if program::is_relied_on(&name) => {
                self.ask(format!("a function with the name {name}, which changes what the word means"));
            }
            Some(name) => drop(self.functions.insert(name)),
            None => self.ask("a function whose name is not one literal"),
        }
        let ast::FunctionBody(body, redirects) = &function.body;
        if matches!(body, ast::CompoundCommand::Coprocess(_)) {
            self.ask("a function whose body is a `coproc`, which bash refuses");
        }
        let first = self.found.writes.len();
        let before = scope.folders.clone();
        let mut within = scope.clone();
        self.redirects(redirects.as_ref(), script, &within);
        self.compound(body, script, &mut within);
        self.found.writes[first..].iter_mut().for_each(|write| write.folders = CommandFolders::Unknown);
        if within.folders != before {
            scope.folders = CommandFolders::Unknown;
        }
    }

    fn test(&mut self, test: &ast::ExtendedTestExpr, script: &ProgramText, scope: &WalkScope) {
        match test {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left, script, scope);
                self.test(right, script, scope);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => {
                self.test(inner, script, scope)
            }
            ast::ExtendedTestExpr::UnaryTest(predicate, word) => {
                self.word(word, script, scope);
                let by_name = matches!(
                    predicate,
                    ast::UnaryPredicate::ShellVariableIsSetAndAssigned
                        | ast::UnaryPredicate::ShellVariableIsSetAndNameRef
                );
                if by_name {
                    self.ask("`[[ -v … ]]`, which computes");
                }
            }
            ast::ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                self.words_of(&left.value, script, scope);
                self.words_of(&right.value, script, scope);
                let computes = matches!(
                    predicate,
                    ast::BinaryPredicate::ArithmeticEqualTo
                        | ast::BinaryPredicate::ArithmeticNotEqualTo
                        | ast::BinaryPredicate::ArithmeticLessThan
                        | ast::BinaryPredicate::ArithmeticLessThanOrEqualTo
                        | ast::BinaryPredicate::ArithmeticGreaterThan
                        | ast::BinaryPredicate::ArithmeticGreaterThanOrEqualTo
                );
                let number = |word: &ast::Word| {
                    script.words.get(&word.value).is_some_and(crate::shell::word::ShellWord::is_number)
                };
                if computes && !(number(left) && number(right)) {
                    self.ask("`[[ … -eq … ]]`, which computes what its variables hold; write it with `[`");
                }
            }
        }
    }

    /// Reads a regular expression after `=~`. In the skeleton, where a name such as `W0` stands for each word, the
    /// expression appears as several such names without blanks between them.
    fn words_of(&mut self, text: &str, script: &ProgramText, scope: &WalkScope) {
        let names = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        for name in names {
            if let Some(word) = script.words.get(name) {
                self.inside(word, scope);
            }
        }
    }
}
