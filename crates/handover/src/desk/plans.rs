//! Serves the tools that set plans, add tasks, replan workflows and apply templates.

use std::collections::BTreeMap;

use engine::command::CreateWorkflow;
use engine::id::{RepositoryId, TemplateId, WorkflowId};
use engine::plan::PlanTask;
use engine::template::TemplateBody;
use engine::world::TaskIdNeed;
use engine::{Caller, Command, Need, Refusal, Reply, view};
use wire::lifecycle::{
    Applied, Call, PlanSettings, Planned, ReplyPart, TemplateApply, TemplateCreate, TemplateList, TemplateRow,
    Templates, Within, WorkflowAddTask, WorkflowReplan, WorkflowSetPlan,
};

use super::author::{signed, signed_command};
use super::{Desk, Stopped, ToolAnswer, ToolRequest, answered, limit};
use base::project::files;
use base::project::task_extra::TaskExtra;

fn without_key(caller: &Caller) -> Caller {
    Caller { key: None, ..caller.clone() }
}

impl Desk {
    /// Attaches the repositories of planned tasks to the workflow. A repository that is attached already stays
    /// attached.
    async fn attach(
        &self,
        caller: &Caller,
        workflow: WorkflowId,
        paths: impl Iterator<Item = &str>,
    ) -> Result<BTreeMap<String, RepositoryId>, Stopped> {
        let mut known = BTreeMap::new();
        for path in paths {
            if known.contains_key(path) {
                continue;
            }
            if known.len() >= engine::limits::REPOSITORIES_MAX {
                let problem = format!("names more than {} repositories", engine::limits::REPOSITORIES_MAX);
                return Err(Refusal::InvalidInput { field: "repository_path".to_owned(), problem }.into());
            }
            let attach = Command::AttachRepository { workflow, path: path.to_owned() };
            let reply = self.service.execute(without_key(caller), attach).await?;
            if let Reply::RepositoryAttached { repository, .. } = reply {
                known.insert(path.to_owned(), repository);
            }
        }
        Ok(known)
    }

    async fn planned(
        &self,
        request: &ToolRequest<'_>,
        workflow: WorkflowId,
        tasks: &[Planned],
    ) -> Result<Vec<PlanTask>, Stopped> {
        let paths = tasks.iter().filter_map(Planned::repository);
        let known = self.attach(&request.caller, workflow, paths).await?;
        let planned = |task: &Planned| task.planned(task.repository().and_then(|path| known.get(path).copied()));
        Ok(signed(tasks.iter().map(planned).collect(), self.author(request).await?.as_deref()))
    }

    pub(super) async fn set_plan(&self, request: &ToolRequest<'_>, call: &Call, asked: &WorkflowSetPlan) -> ToolAnswer {
        let (id, caller) = (asked.id, &request.caller);
        let tasks = self.planned(request, id, &asked.plan.tasks.0).await?;
        let summary = match asked.plan.told_summary() {
            Some(summary) => summary.to_string(),
            None => self.service.view(move |world| world.workflow(id).map(|workflow| workflow.name.clone())).await?,
        };
        let reply = self.service.set_plan(caller.clone(), id, summary, tasks).await?;
        self.apply_settings(caller, id, &asked.plan.settings()).await?;
        answered(call, &reply)
    }

    /// Applies those settings of a plan that an existing workflow can still take: its limits, its configuration and its
    /// repositories. The name and the source of a workflow stay as they were when it was created. This runs after the
    /// plan was set, because a refused plan must change nothing.
    async fn apply_settings(
        &self,
        caller: &Caller,
        workflow: WorkflowId,
        settings: &PlanSettings,
    ) -> Result<(), Stopped> {
        let asked = settings.create("");
        let mut commands: Vec<Command> = Vec::new();
        if asked.parallel_max.is_some() || settings.auto_create_workspaces.is_some() {
            let auto_workspaces = settings.auto_create_workspaces;
            let parallel_max = asked.parallel_max;
            commands.push(Command::SetParallelism { workflow, parallel_max, auto_workspaces });
        }
        commands.extend(asked.config.map(|config| Command::SetConfig { workflow, config }));
        let attach = |path| Command::AttachRepository { workflow, path };
        commands.extend(asked.repositories.into_iter().map(attach));
        for command in commands {
            self.service.execute(without_key(caller), command).await?;
        }
        Ok(())
    }

    pub(super) async fn add_task(&self, request: &ToolRequest<'_>, call: &Call, asked: &WorkflowAddTask) -> ToolAnswer {
        let workflow = asked.workflow_id;
        let known = self.attach(&request.caller, workflow, asked.repository().into_iter()).await?;
        let task = asked.planned(asked.repository().and_then(|path| known.get(path).copied()));
        let after = asked.after_task.as_ref().map(ToString::to_string);
        let add = Command::AddTask { workflow, task: Box::new(task), after };
        let add = signed_command(add, self.author(request).await?.as_deref());
        let reply = self.service.execute(request.caller.clone(), add).await?;
        answered(call, &reply)
    }

    pub(super) async fn replan(&self, request: &ToolRequest<'_>, call: &Call, asked: &WorkflowReplan) -> ToolAnswer {
        let workflow = asked.workflow_id;
        let tasks = self.planned(request, workflow, &asked.plan.tasks.0).await?;
        let (summary, reason) = (asked.plan.told_summary().to_string(), asked.plan.reason.to_string());
        let replan = Command::Replan { workflow, summary, reason, tasks };
        let reply = self.service.execute(request.caller.clone(), replan).await?;
        self.apply_settings(&request.caller, workflow, &asked.plan.settings()).await?;
        answered(call, &reply)
    }

    pub(super) async fn create_template(
        &self,
        request: &ToolRequest<'_>,
        call: &Call,
        asked: &TemplateCreate,
    ) -> ToolAnswer {
        let body = match (&asked.template, asked.from_workflow_id) {
            (Some(template), None) => template.body(),
            (None, Some(workflow)) => self.body_of(workflow).await?,
            (Some(_), Some(_)) | (None, None) => {
                let problem = "or `from_workflow_id` is required, and only one of them".to_owned();
                return Err(Refusal::InvalidInput { field: "template".to_owned(), problem }.into());
            }
        };
        // Write the author into the tasks now: the caller that later applies the template is not their author.
        let tasks = signed(body.tasks, self.author(request).await?.as_deref());
        let body = TemplateBody { tasks, ..body };
        let create = Command::CreateTemplate {
            name: asked.name.to_string(),
            description: asked.description.as_ref().map(ToString::to_string),
            body,
        };
        let reply = self.service.execute(request.caller.clone(), create).await?;
        answered(call, &reply)
    }

    /// Makes the body of a template from the tasks of a workflow, as they were planned.
    async fn body_of(&self, workflow: WorkflowId) -> Result<TemplateBody, Stopped> {
        let mut tasks = Vec::new();
        let mut after = None;
        loop {
            let page = self
                .service
                .view(move |world| {
                    let page = view::tasks(world, workflow, &[], after, 500)?;
                    world.want(page.rows.iter().map(|row| TaskIdNeed::Dependencies(row.task.id)))?;
                    let mut planned = Vec::new();
                    for row in &page.rows {
                        let on = world.ask(&TaskIdNeed::Dependencies(row.task.id))?;
                        let all = on.iter().chain(&row.detail.context_from);
                        world.want(all.map(|id| Need::Task(*id)))?;
                        let mut on = on.to_vec();
                        on.sort_by_key(|id| (world.task(*id).map_or(u32::MAX, |task| task.sequence), *id));
                        let name = |id: &engine::id::TaskId| world.task(*id).map(|task| task.name.clone()).ok();
                        planned.push(PlanTask {
                            description: row.detail.description.clone(),
                            depends_on: on.iter().filter_map(name).collect(),
                            context_from: row.detail.context_from.iter().filter_map(name).collect(),
                            group: row.task.group.clone(),
                            priority: row.task.priority,
                            role: row.task.role.clone(),
                            capabilities: row.task.capabilities.clone(),
                            touches: row.task.touches.clone(),
                            attempts_max: row.task.attempts_max,
                            verify: row.task.verify,
                            review: TaskExtra::of(&row.detail).review.is_some(),
                            gate: row.task.gate,
                            limited: row.task.limited,
                            repository: None,
                            brief: row.detail.brief.clone(),
                            context: row.detail.context.clone(),
                            extra: row.detail.extra.clone(),
                            name: row.task.name.clone(),
                        });
                    }
                    Ok((planned, page.next))
                })
                .await?;
            tasks.extend(page.0);
            after = page.1;
            if after.is_none() {
                return Ok(TemplateBody { tasks, ..TemplateBody::default() });
            }
            if tasks.len() > engine::limits::REPLAN_ROWS_MAX {
                let problem = format!("has more than {} tasks", engine::limits::REPLAN_ROWS_MAX);
                return Err(Refusal::InvalidInput { field: "from_workflow_id".to_owned(), problem }.into());
            }
        }
    }

    pub(super) async fn templates(&self, asked: &TemplateList) -> ToolAnswer {
        let after = asked.cursor.as_ref().map(ToString::to_string).unwrap_or_default();
        let rows = limit(asked.limit);
        let page = self.service.view(move |world| view::templates(world, &after, rows)).await?;
        let mut templates: Vec<TemplateRow> = Vec::new();
        // The list has the templates in files first, and then the templates in the store. All templates in files are on
        // the first page. A call without a cursor (a position in the list) asks for the first page.
        if asked.cursor.is_none() {
            templates.extend(
                self.files()?
                    .into_iter()
                    .map(|file| TemplateRow::of_file(file.path, file.name, file.description, &file.body)),
            );
        }
        templates.extend(page.rows.iter().map(TemplateRow::of));
        Ok(Templates { templates, next_cursor: page.next }.render())
    }

    /// Returns the templates of workflows that the project keeps in files.
    fn files(&self) -> Result<Vec<files::ProjectTemplate>, Stopped> {
        let Some(root) = &self.surroundings.root else { return Ok(Vec::new()) };
        files::templates(root).map_err(|problem| {
            let problem = format!("cannot be read: {problem}");
            Refusal::InvalidInput { field: ".handover/templates".to_owned(), problem }.into()
        })
    }

    /// Finds a template by its id or its name. If a file and the store both have a template of this name, returns the
    /// one in the file.
    async fn template(&self, wanted: &str) -> Result<(String, Option<String>, TemplateBody), Stopped> {
        if let Ok(id) = wanted.parse::<TemplateId>() {
            let found = self.service.view(move |world| world.template(id).cloned()).await?;
            return Ok((found.name, found.description, found.body));
        }
        if let Some(file) = self.files()?.into_iter().find(|file| file.name == wanted) {
            return Ok((file.name, file.description, file.body));
        }
        let mut after = String::new();
        loop {
            let from = after.clone();
            let page = self.service.view(move |world| view::templates(world, &from, 500)).await?;
            if let Some(found) = page.rows.into_iter().find(|row| row.name == wanted) {
                return Ok((found.name, found.description, found.body));
            }
            match page.next {
                Some(next) => after = next,
                None => return Err(Refusal::TemplateNotFound { template: wanted.to_owned() }.into()),
            }
        }
    }

    pub(super) async fn apply_template(&self, request: &ToolRequest<'_>, asked: &TemplateApply) -> ToolAnswer {
        let (name, description, body) = self.template(asked.template_id.as_str()).await?;
        let given = asked.variables.iter().flat_map(|map| &map.0);
        let values: BTreeMap<String, String> = given.map(|(name, value)| (name.clone(), value.to_string())).collect();
        let tasks = signed(body.fill(&values)?, self.author(request).await?.as_deref());
        // Check the plan before the workflow is created. Otherwise an invalid plan would leave an empty workflow.
        engine::plan::Plan::whole(tasks.clone())?;
        let settings = PlanSettings::of_template(&body).create(asked.workflow_name.as_str());
        let given: Vec<String> =
            asked.repository_paths.iter().flat_map(|list| &list.0).map(ToString::to_string).collect();
        let create = CreateWorkflow {
            source_type: "template".to_owned(),
            source_ref: Some(asked.template_id.to_string()),
            source_content: description.unwrap_or(settings.source_content),
            parallel_max: asked.max_parallel_tasks.map(|Within(number)| number).or(settings.parallel_max),
            repositories: if given.is_empty() { settings.repositories } else { given },
            ..settings
        };
        let caller = &request.caller;
        let made = self.service.execute(caller.clone(), Command::CreateWorkflow(create)).await?;
        let Reply::WorkflowCreated { workflow, .. } = made else { return Err(super::unexpected("template_apply")) };
        let summary = format!("from the template {name}");
        let set = self.service.set_plan(caller.clone(), workflow, summary, tasks).await?;
        let Reply::PlanSet { tasks, .. } = set else { return Err(super::unexpected("template_apply")) };
        Ok(Applied { workflow_id: workflow, tasks_created: tasks }.render())
    }
}
