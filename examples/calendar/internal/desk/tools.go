package desk

import (
	"context"

	"github.com/weft-go/weft/tools"
)

// Tools returns the tools.
func (d *Desk) Tools() (*tools.Set, error) {
	return tools.NewSet(
		reads("list_calendar_events", "calendar", "list", "Lists what is in the calendar within a time.", d.listEvents),
		reads("search_calendar_events", "calendar", "search", "Finds events by words of their title, place, notes or guests.", d.searchEvents),
		reads("get_calendar_event", "calendar", "get", "Returns an event with its notes.", d.getEvent),
		reads("find_free_time", "calendar", "free", "Finds times in which nothing is in the calendar.", d.freeTime),
		adds("create_calendar_event", "calendar", "create", "Puts an event into the calendar.", d.createEvent),
		destroys("update_calendar_event", "calendar", "update", "Moves or changes an event.", d.updateEvent),
		destroys("delete_calendar_event", "calendar", "delete", "Deletes an event, or one occurrence of one that recurs.", d.deleteEvent),

		reads("list_mail_messages", "mail", "list", "Lists the mail of a folder, newest first.", d.listMail),
		reads("search_mail_messages", "mail", "search", "Finds mail by words, or by people.", d.searchMail),
		reads("read_mail_message", "mail", "get", "Returns a mail with its text.", d.readMail),
		adds("archive_mail_message", "mail", "archive", "Moves a mail into the archive.", d.archiveMail),
		destroys("send_mail_message", "mail", "send", "Sends a mail.", d.sendMail),
		destroys("delete_mail_message", "mail", "delete", "Deletes a mail.", d.deleteMail),

		reads("list_tasks", "task", "list", "Lists the tasks.", d.listTasks),
		reads("search_tasks", "task", "search", "Finds tasks by words.", d.searchTasks),
		adds("create_task", "task", "create", "Adds a task.", d.createTask),
		adds("complete_task", "task", "complete", "Marks a task as done.", d.completeTask),
		destroys("update_task", "task", "update", "Changes a task.", d.updateTask),
		destroys("delete_task", "task", "delete", "Deletes a task.", d.deleteTask),
	)
}

func reads[In, Out any](name, category, action, text string, fn func(context.Context, In) (Out, error)) tools.Tool {
	return tools.New(name, text, fn).Annotate(tools.Annotations{Category: category, Action: action, ReadOnly: true})
}

// adds makes a tool of what can be taken back with ease.
func adds[In, Out any](name, category, action, text string, fn func(context.Context, In) (Out, error)) tools.Tool {
	return tools.New(name, text, fn).Annotate(tools.Annotations{Category: category, Action: action})
}

// destroys makes a tool of what can not, and so is not done without a yes.
func destroys[In, Out any](name, category, action, text string, fn func(context.Context, In) (Out, error)) tools.Tool {
	return tools.New(name, text, fn).Annotate(tools.Annotations{Category: category, Action: action, Destructive: true})
}
