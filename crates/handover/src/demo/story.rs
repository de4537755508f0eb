//! The story that the demo tells around the events of its run: each chapter is announced before its tasks start, and
//! explained after they are completed.

use std::collections::BTreeSet;

use runner::attempt::shared::{RunEvent, RunNews};

pub(super) const OPENING: &str = "\
Handover lets AI agents share work without dropping any of it. In this demo,
three agents build a sign-in page in a new git repository. The agents follow a
script, so you need no API key. All else is real: programs, git, tests, the log.

Each task is done in a folder of its own (a git worktree). Its changes count
only after the test of the repository, `sh check.sh`, has passed.
";

/// One part of the story, with the numbers of its tasks in the plan.
struct StoryChapter {
    tasks: &'static [u32],
    before: &'static str,
    after: &'static str,
}

const CHAPTERS: [StoryChapter; 5] = [
    StoryChapter {
        tasks: &[1, 2],
        before: "\
1. Two agents start at once. Bob's first answer will lack something.
",
        after: "
   Handover told bob what his answer lacked, and bob answered again. Both tasks
   were tested and are now on one branch. Your own branch is as it was.
",
    },
    StoryChapter {
        tasks: &[3],
        before: "\
2. Carol's program will be killed in the middle of her task.
",
        after: "
   The task was not lost: Handover saw that the program was gone, cleaned the
   folder and started carol again.
",
    },
    StoryChapter {
        tasks: &[4],
        before: "\
3. Amy will ask you a question. The demo answers for you.
",
        after: "
   Amy's task waited for the answer, and she continued where she had stopped.
   In your repository you answer with: handover answer 4 \"Port 8080.\"
",
    },
    StoryChapter {
        tasks: &[5],
        before: "\
4. Bob will say that his page is done. It is not.
",
        after: "
   Nobody had to believe bob: the test failed (twice, to rule out chance), bob
   got its output, and the page counts only since the test passed.
",
    },
    StoryChapter {
        tasks: &[6],
        before: "\
5. Carol ends the plan. She gets what the others found out.
",
        after: "",
    },
];

/// The commands with which a person continues in their own repository.
pub(super) const NEXT: &str = "\
Now in your own repository:
  handover init                      finds your agents and your test command
  handover add \"one small change\"    writes down a task
  handover run                       lets an agent do it, and tests the result
  handover merge 1                   takes it, after you saw: handover diff 1";

/// A part of the story that is shown next.
#[derive(Debug)]
pub(super) enum StoryPart {
    Text(&'static str),
    News(Box<RunNews>),
}

/// Puts the events of a run into the order of the chapters. An event of a later chapter waits until the chapter before
/// it is over, because a task may start before the runner reports that the previous task is completed.
#[derive(Debug, Default)]
pub(super) struct Storyteller {
    chapter: usize,
    is_announced: bool,
    completed: BTreeSet<u32>,
    waiting: Vec<RunNews>,
}

impl Storyteller {
    /// Takes an event of the run. Returns the parts of the story that can be shown now.
    pub(super) fn hear(&mut self, news: RunNews) -> Vec<StoryPart> {
        self.waiting.push(news);
        let mut parts = Vec::new();
        while let Some(at) = self.waiting.iter().position(|news| self.is_now(news)) {
            let news = self.waiting.remove(at);
            self.tell(news, &mut parts);
        }
        parts
    }

    /// Returns the events that still wait, after the run is over.
    pub(super) fn end(self) -> Vec<StoryPart> {
        self.waiting.into_iter().map(|news| StoryPart::News(Box::new(news))).collect()
    }

    fn is_now(&self, news: &RunNews) -> bool {
        match (CHAPTERS.get(self.chapter), news.number) {
            (Some(chapter), Some(number)) => chapter.tasks.contains(&number),
            (None, _) | (_, None) => true,
        }
    }

    fn tell(&mut self, news: RunNews, parts: &mut Vec<StoryPart>) {
        let (Some(chapter), Some(number)) = (CHAPTERS.get(self.chapter), news.number) else {
            parts.push(StoryPart::News(Box::new(news)));
            return;
        };
        if !self.is_announced {
            self.is_announced = true;
            parts.push(StoryPart::Text(chapter.before));
        }
        let is_completed = matches!(news.what, RunEvent::Completed { .. });
        parts.push(StoryPart::News(Box::new(news)));
        if is_completed && self.completed.insert(number) && self.completed.len() == chapter.tasks.len() {
            parts.extend((!chapter.after.is_empty()).then_some(StoryPart::Text(chapter.after)));
            (self.chapter, self.is_announced, self.completed) = (self.chapter + 1, false, BTreeSet::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::id::TaskId;
    use engine::turn::Spent;

    use super::*;

    fn news(number: u32, what: RunEvent) -> RunNews {
        let (name, agent) = (format!("task {number}"), "amy".to_owned());
        RunNews { task: TaskId::FIRST, number: Some(number), name, agent, what }
    }

    fn completed(number: u32) -> RunNews {
        let what = RunEvent::Completed { summary: String::new(), spent: Spent::default(), waits_for_merge: false };
        news(number, what)
    }

    fn asks(number: u32) -> RunNews {
        news(number, RunEvent::Asks { question: "?".to_owned() })
    }

    /// Returns the parts in short: the number of the task of an event, and the first characters of a text.
    fn short(parts: Vec<StoryPart>) -> Vec<String> {
        let part = |part: StoryPart| match part {
            StoryPart::Text(text) => text.trim().chars().take(2).collect(),
            StoryPart::News(news) => news.number.map(|number| number.to_string()).unwrap_or_default(),
        };
        parts.into_iter().map(part).collect()
    }

    #[test]
    fn an_event_of_the_next_chapter_waits_for_the_end_of_this_one() {
        let mut story = Storyteller::default();
        assert_eq!(short(story.hear(asks(2))), ["1.", "2"]);
        assert_eq!(short(story.hear(completed(2))), ["2"]);
        assert_eq!(short(story.hear(asks(3))), [""; 0], "the second chapter has not begun");
        assert_eq!(short(story.hear(completed(1))), ["1", "Ha", "2.", "3"]);
        assert_eq!(short(story.hear(asks(6))), [""; 0]);
        assert_eq!(short(story.end()), ["6"]);
    }

    #[test]
    fn every_task_of_the_plan_is_in_one_chapter_and_every_line_fits() {
        let tasks: Vec<u32> = CHAPTERS.iter().flat_map(|chapter| chapter.tasks.iter().copied()).collect();
        assert_eq!(tasks, [1, 2, 3, 4, 5, 6]);
        let texts = CHAPTERS.iter().flat_map(|chapter| [chapter.before, chapter.after]).chain([OPENING, NEXT]);
        for line in texts.flat_map(str::lines) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
