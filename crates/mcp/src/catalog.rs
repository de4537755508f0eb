//! The lists of tools, resource templates and prompts that clients can request. They are built once and do not change
//! while the process runs.

use std::sync::{Arc, OnceLock};

use rmcp::ErrorData;
use rmcp::model::{
    ListPromptsResult, ListResourceTemplatesResult, ListToolsResult, MetaObject, PaginatedRequestParams, Prompt,
    PromptArgument, ResourceTemplate, Tool, ToolAnnotations,
};

use super::backend::{self, Backend};
use super::limits::PAGE_ITEMS;

const NEAR_NAMES_MAX: usize = 3;

pub(super) struct Catalog {
    names: Vec<String>,
    /// The tools. The list is built when a client first asks for it, because the schemas are large and the server
    /// should start fast.
    tools: OnceLock<Vec<Tool>>,
    templates: Vec<ResourceTemplate>,
    prompts: Vec<Prompt>,
}

impl Catalog {
    pub(super) fn of(backend: &impl Backend) -> Self {
        Self {
            names: backend.tool_names(),
            tools: OnceLock::new(),
            templates: backend.templates().iter().map(template).collect(),
            prompts: backend.prompts().iter().map(prompt).collect(),
        }
    }

    pub(super) fn has_tool(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    pub(super) fn tools(
        &self,
        backend: &impl Backend,
        asked: Option<PaginatedRequestParams>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = self.tools.get_or_init(|| backend.tools().into_iter().map(tool).collect());
        let (items, next_cursor) = page(all, asked)?;
        Ok(ListToolsResult { next_cursor, ..ListToolsResult::with_all_items(items) })
    }

    pub(super) fn templates(
        &self,
        asked: Option<PaginatedRequestParams>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (items, next_cursor) = page(&self.templates, asked)?;
        Ok(ListResourceTemplatesResult { next_cursor, ..ListResourceTemplatesResult::with_all_items(items) })
    }

    pub(super) fn prompts(&self, asked: Option<PaginatedRequestParams>) -> Result<ListPromptsResult, ErrorData> {
        let (items, next_cursor) = page(&self.prompts, asked)?;
        Ok(ListPromptsResult { next_cursor, ..ListPromptsResult::with_all_items(items) })
    }

    pub(super) fn unknown_tool(&self, name: &str) -> ErrorData {
        let mut near: Vec<(usize, &str)> =
            self.names.iter().map(|known| (edits(name, known), known.as_str())).collect();
        // A tool name counts as similar only if at most a third of its characters differ.
        near.retain(|(edits, other)| edits * 3 <= other.chars().count());
        near.sort_unstable();
        let near: Vec<&str> = near.into_iter().take(NEAR_NAMES_MAX).map(|(_, name)| name).collect();
        let shown: String = name.chars().take(64).collect();
        let advice = if near.is_empty() {
            "tools/list returns the names".to_owned()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        ErrorData::invalid_params(format!("unknown tool: {shown}; {advice}"), None)
    }
}

fn tool(tool: backend::McpTool) -> Tool {
    let hints = tool.hints;
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(false);
    let mut listed = Tool::new(tool.name, tool.description, Arc::new(tool.input_schema));
    listed.title = tool.title;
    listed.output_schema = tool.output_schema.map(Arc::new);
    listed.annotations = Some(annotations);
    if tool.always_load {
        let mut meta = MetaObject::new();
        meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
        listed.meta = Some(meta);
    }
    listed
}

fn template(template: &backend::UriTemplate) -> ResourceTemplate {
    let mut listed = ResourceTemplate::new(template.uri_template.clone(), template.name.clone())
        .with_description(template.description.clone())
        .with_mime_type("application/json");
    listed.title.clone_from(&template.title);
    listed
}

fn prompt(prompt: &backend::Prompt) -> Prompt {
    let arguments = prompt.arguments.iter().map(|argument| {
        PromptArgument::new(argument.name.clone())
            .with_description(argument.description.clone())
            .with_required(argument.required)
    });
    let mut listed = Prompt::new(prompt.name.clone(), Some(prompt.description.clone()), Some(arguments.collect()));
    listed.title.clone_from(&prompt.title);
    listed
}

/// Returns one page of a list. The cursor is the index of the first item of the page. Every cursor stays valid, because
/// the list does not change while the process runs.
fn page<T: Clone>(all: &[T], asked: Option<PaginatedRequestParams>) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let start = match asked.and_then(|asked| asked.cursor) {
        None => 0,
        Some(cursor) => cursor
            .parse()
            .ok()
            .filter(|start: &usize| *start < all.len())
            .ok_or_else(|| ErrorData::invalid_params("unknown cursor; ask for the list without one", None))?,
    };
    let end = all.len().min(start + PAGE_ITEMS);
    let next = (end < all.len()).then(|| end.to_string());
    Ok((all.get(start..end).unwrap_or_default().to_vec(), next))
}

/// Returns the number of edits between two names (Levenshtein distance). Compares only the first 64 characters of long
/// names.
fn edits(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (above, letter) in left.chars().take(64).enumerate() {
        let mut corner = above;
        row[0] = above + 1;
        for (column, other) in right.iter().enumerate() {
            let changed = corner + usize::from(letter != *other);
            corner = row[column + 1];
            row[column + 1] = changed.min(corner + 1).min(row[column] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}
