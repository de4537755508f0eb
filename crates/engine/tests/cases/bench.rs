//! The test bench that runs one test script: the state in memory, the time, and the ids for the script's short names.

use std::collections::BTreeMap;

use engine::command::{Key, KeyOwner, Standing};
use engine::id::{AgentId, Ids, MessageId, RepositoryId, SessionId, TaskId, TemplateId, WorkflowId, WorkspaceId};
use engine::tables::Tables;
use engine::{Caller, Command, Need, Refusal, Reply, Rights, Stamp, Timestamp, World, decide, fold};

use crate::line::Line;
use crate::{act, show, view};

#[derive(Debug, Default)]
pub(crate) struct Bench {
    pub(crate) tables: Tables,
    pub(crate) now: Timestamp,
    /// The events that were logged since the script's last `log` line. The first text of a pair is the topic (log) and
    /// the sender of the event, the second text is the event's name.
    pub(crate) log: Vec<(String, String)>,
    /// `ids` has the id for each short name that the script uses. `names` has the short name for each id.
    ids: BTreeMap<(&'static str, String), String>,
    pub(crate) names: BTreeMap<String, String>,
    seed: u128,
}

/// The words of a script line. The plain words are taken one by one, the words of the form `name=value` by their name.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    plain: std::collections::VecDeque<String>,
    named: BTreeMap<String, String>,
    pub(crate) tasks: String,
}

impl Words {
    pub(crate) fn word(&mut self, what: &str) -> Result<String, String> {
        self.plain.pop_front().ok_or_else(|| format!("{what} is missing"))
    }

    pub(crate) fn maybe(&mut self) -> Option<String> {
        self.plain.pop_front()
    }

    /// Removes a word that acts as a flag from the script line. Returns true when the line had the word.
    pub(crate) fn flag(&mut self, word: &str) -> bool {
        let before = self.plain.len();
        self.plain.retain(|other| other != word);
        self.plain.len() < before
    }

    pub(crate) fn named(&mut self, name: &str) -> Option<String> {
        self.named.remove(name)
    }

    pub(crate) fn number<T: std::str::FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        self.named(name).map(|text| text.parse().map_err(|_| format!("{name} is not a number"))).transpose()
    }

    pub(crate) fn list(&mut self, name: &str) -> Vec<String> {
        self.named(name).map(|text| text.split(',').map(str::to_owned).collect()).unwrap_or_default()
    }

    pub(crate) fn json(&mut self, name: &str) -> Option<engine::Json> {
        self.named(name).map(engine::Json::from_stored)
    }

    pub(crate) fn done(&self) -> Result<(), String> {
        let left = self.plain.iter().chain(self.named.keys()).cloned().collect::<Vec<_>>();
        if left.is_empty() { Ok(()) } else { Err(format!("not understood: {}", left.join(" "))) }
    }
}

impl Bench {
    pub(crate) fn play(&mut self, line: &Line) -> Result<String, String> {
        let mut plain: std::collections::VecDeque<String> = line.words.iter().cloned().collect();
        if let Some(time) = plain.front().and_then(|word| time(word, self.now)) {
            self.now = time;
            plain.pop_front();
        }
        let is_named = |word: &String| {
            word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|byte| byte.is_ascii_lowercase()))
        };
        let (named, plain): (Vec<_>, Vec<_>) = plain.into_iter().partition(is_named);
        let pair = |word: String| word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
        let named: BTreeMap<_, _> = named.into_iter().filter_map(pair).collect();
        let mut words = Words { plain: plain.into(), named, tasks: line.tasks.clone() };
        let first = words.word("who acts")?;
        if view::is_view(&first) {
            return view::view(self, &first, &mut words);
        }
        let times = words.number("times")?.unwrap_or(1);
        let mut answer = String::new();
        for number in 1..=times {
            let numbered =
                |text: &String| if times > 1 { text.replace('#', &number.to_string()) } else { text.clone() };
            let mut words = words.clone();
            words.plain.iter_mut().for_each(|text| *text = numbered(text));
            words.named.values_mut().for_each(|text| *text = numbered(text));
            answer = act::act(self, &numbered(&first), words)?;
        }
        Ok(answer)
    }

    /// Reads the caller of a script line: `a`, `a@c1`, `@c1`, `person`, `coordinator@c1`, `runner:a`. The text after
    /// `@` is the connection. A connection whose name begins with `t` stands for all calls with one token; `cli` is the
    /// command line. A caller without a connection needs no proof that it is the agent that it names. `by=` names the
    /// user or token behind the connection.
    pub(crate) fn caller(&mut self, who: &str, words: &mut Words) -> Result<Caller, String> {
        let (who, connection) = who.split_once('@').map_or((who, None), |(who, name)| (who, Some(name)));
        let (rights, agent) = match who.split_once(':').unwrap_or((who, "")) {
            ("person", agent) => (Rights::Person, agent),
            ("coordinator", agent) => (Rights::Coordinator, agent),
            ("script", agent) => (Rights::Script, agent),
            ("runner", agent) => (Rights::Runner, agent),
            ("engine", agent) => (Rights::Engine, agent),
            (agent, _) => (Rights::Agent, agent),
        };
        let mut caller = Caller::with_rights(rights);
        caller.agent = if agent.is_empty() { None } else { Some(self.agent(agent)) };
        caller.session = connection.map(|name| self.session(name));
        (caller.standing, caller.principal) = match connection {
            None => (Standing::Vouched, None),
            Some(token) if token.starts_with('t') => (Standing::Shared, Some(format!("token:{token}"))),
            Some("cli") => (Standing::Shared, Some("user:u".to_owned())),
            Some(_) => (Standing::Client, Some("user:u".to_owned())),
        };
        caller.principal = words.named("by").or(caller.principal);
        caller.alive = words.list("alive").iter().map(|name| self.session(name)).collect();
        caller.foreign = words.list("foreign").iter().map(|name| self.session(name)).collect();
        caller.work = words.named("work");
        caller.lock_owner = words.named("lock").map(|owner| self.lock_owner(&owner));
        if let Some(key) = words.named("key") {
            // Make the fingerprint of the call from the words of the line. So it stays the same when a large plan is
            // sent in several commands, as in a real call.
            let fingerprint = words.named("call").unwrap_or_else(|| format!("{words:?}"));
            // When the call has a connection, the engine itself finds the owner of the idempotency key, as in a real
            // call.
            let owner = match (words.named("owner"), connection) {
                (Some(owner), _) => KeyOwner::Fixed(owner),
                (None, Some(name)) => KeyOwner::Acting { connection: name.to_owned(), tool: "tool".to_owned() },
                (None, None) => KeyOwner::Fixed(who.to_owned()),
            };
            caller.key = Some(Key { owner, key, fingerprint });
        }
        Ok(caller)
    }

    pub(crate) fn execute(&mut self, caller: &Caller, command: &Command) -> Result<Result<Reply, Refusal>, String> {
        let stamp = Stamp { now: self.now, seed: self.seed() };
        let mut world = World::default();
        let mut needs = command.scope(caller);
        for _ in 0..10_000 {
            if let Some(again) = needs.iter().find(|need| world.knows(need)) {
                return Err(format!("asks again for {again:?}"));
            }
            needs.iter().for_each(|need| self.tables.answer(need, &mut world));
            match decide(&world, caller, command, stamp) {
                Err(lacking) => needs = lacking,
                Ok(change) => {
                    for write in fold(&mut world, &change.events, self.now) {
                        self.tables.write(write);
                    }
                    for event in &change.events {
                        let topic = event.topic().map(|topic| format!("{topic} by {}", change.sender));
                        self.log.extend(topic.map(|topic| (topic, event.name().to_owned())));
                    }
                    return Ok(change.reply);
                }
            }
        }
        Err("asks without end".to_owned())
    }

    /// Runs a function that only reads the state, and loads the parts of the state that the function asks for.
    pub(crate) fn read<T>(&self, read: impl Fn(&World) -> Result<T, engine::DecisionStop>) -> Result<T, String> {
        let mut world = World::default();
        loop {
            match read(&world) {
                Ok(found) => return Ok(found),
                Err(engine::DecisionStop::Missing(needs)) => {
                    needs.iter().for_each(|need: &Need| self.tables.answer(need, &mut world))
                }
                Err(engine::DecisionStop::Refused(refusal) | engine::DecisionStop::Recorded(refusal)) => {
                    return Err(show::refusal(self, &refusal));
                }
            }
        }
    }

    pub(crate) fn seed(&mut self) -> u128 {
        self.seed += 1;
        self.seed
    }

    pub(crate) fn bind(&mut self, prefix: &'static str, name: &str, id: impl std::fmt::Display) {
        self.ids.insert((prefix, name.to_owned()), id.to_string());
        self.names.insert(id.to_string(), name.to_owned());
    }

    /// Returns the id for a short name of the script. A short name that no command has created gets an id that belongs
    /// to nothing in the state.
    fn id<T: std::str::FromStr + std::fmt::Display>(&mut self, prefix: &'static str, name: &str) -> T {
        loop {
            let known = self.ids.get(&(prefix, name.to_owned())).and_then(|id| id.parse().ok());
            if let Some(id) = known {
                return id;
            }
            let seed = self.seed();
            let body = TaskId::next(&mut Ids::new(seed)).to_string();
            self.bind(prefix, name, body.replacen("tk", prefix, 1));
        }
    }

    /// Returns the id that a short name of the script now stands for, or `None` when nothing has this name.
    pub(crate) fn known(&self, prefix: &'static str, name: &str) -> Option<&str> {
        self.ids.get(&(prefix, name.to_owned())).map(String::as_str)
    }

    pub(crate) fn knows_agent(&self, name: &str) -> bool {
        self.known("ag", name).is_some()
    }

    /// Returns the script's short name for an id. An id without a short name gets one that ends with the next number.
    pub(crate) fn numbered(&mut self, prefix: &'static str, letter: &str, id: &impl std::fmt::Display) -> String {
        if let Some(name) = self.names.get(&id.to_string()) {
            return name.clone();
        }
        let count = self.ids.keys().filter(|(kind, _)| *kind == prefix).count();
        let name = format!("{letter}{}", count + 1);
        self.bind(prefix, &name, id);
        name
    }

    pub(crate) fn agent(&mut self, name: &str) -> AgentId {
        self.id("ag", name)
    }

    pub(crate) fn task(&mut self, name: &str) -> TaskId {
        self.id("tk", name)
    }

    pub(crate) fn workflow(&mut self, name: &str) -> WorkflowId {
        self.id("wf", name)
    }

    pub(crate) fn session(&mut self, name: &str) -> SessionId {
        self.id("ses", name)
    }

    pub(crate) fn message(&mut self, name: &str) -> MessageId {
        self.id("msg", name)
    }

    pub(crate) fn workspace(&mut self, name: &str) -> WorkspaceId {
        self.id("ws", name)
    }

    pub(crate) fn repository(&mut self, path: &str) -> RepositoryId {
        self.id("rp", path)
    }

    pub(crate) fn template(&mut self, name: &str) -> TemplateId {
        self.id("tmpl", name)
    }

    /// Returns the owner of a lock that a script line names: the id of an agent if an agent has this name, else the
    /// text itself.
    pub(crate) fn lock_owner(&mut self, text: &str) -> String {
        if self.knows_agent(text) { self.agent(text).to_string() } else { text.to_owned() }
    }
}

/// Parses a time: `1500`, `2s`, `15m`, `2h` since the start of the script, or `+2s` since the last line.
pub(crate) fn time(word: &str, now: Timestamp) -> Option<Timestamp> {
    let (from, span) = word.strip_prefix('+').map_or((0, word), |span| (now.0, span));
    let (digits, unit) = span.split_at(span.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(span.len()));
    let factor = match unit {
        "" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(Timestamp(from + digits.parse::<i64>().ok()? * factor))
}
