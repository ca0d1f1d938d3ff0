package desk

import (
	"context"

	"github.com/weft-go/weft/tools"
)

// Tools returns the tools.
func (d *Desk) Tools() (*tools.Set, error) {
	return tools.NewSet(
		shownAs("day", reads("list_calendar_events", "Look into the calendar", "calendar", "list", "Lists what is in the calendar within a time.", d.listEvents)),
		reads("search_calendar_events", "Search the calendar", "calendar", "search", "Finds events by words of their title, place, notes or guests.", d.searchEvents),
		reads("get_calendar_event", "Look at an event", "calendar", "get", "Returns an event with its notes.", d.getEvent),
		reads("find_free_time", "Find free time", "calendar", "free", "Finds times in which nothing is in the calendar.", d.freeTime),
		adds("create_calendar_event", "Add an event", "calendar", "create", "Puts an event into the calendar.", d.createEvent),
		shownAs("diff", destroys("update_calendar_event", "Change an event", "calendar", "update", "Moves or changes an event.", d.updateEvent)),
		destroys("delete_calendar_event", "Delete an event", "calendar", "delete", "Deletes an event, or one occurrence of one that recurs.", d.deleteEvent),

		reads("list_mail_messages", "Look into the mail", "mail", "list", "Lists the mail of a folder, newest first.", d.listMail),
		reads("search_mail_messages", "Search the mail", "mail", "search", "Finds mail by words, or by people.", d.searchMail),
		reads("read_mail_message", "Read a mail", "mail", "get", "Returns a mail with its text.", d.readMail),
		adds("archive_mail_message", "Archive a mail", "mail", "archive", "Moves a mail into the archive.", d.archiveMail),
		destroys("send_mail_message", "Send a mail", "mail", "send", "Sends a mail.", d.sendMail),
		destroys("delete_mail_message", "Delete a mail", "mail", "delete", "Deletes a mail.", d.deleteMail),

		reads("list_tasks", "Look at the tasks", "task", "list", "Lists the tasks.", d.listTasks),
		reads("search_tasks", "Search the tasks", "task", "search", "Finds tasks by words.", d.searchTasks),
		adds("create_task", "Add a task", "task", "create", "Adds a task.", d.createTask),
		adds("complete_task", "Complete a task", "task", "complete", "Marks a task as done.", d.completeTask),
		destroys("update_task", "Change a task", "task", "update", "Changes a task.", d.updateTask),
		destroys("delete_task", "Delete a task", "task", "delete", "Deletes a task.", d.deleteTask),
	)
}

// shownAs declares the card in which a page shows the result of a tool.
func shownAs(card string, t tools.Tool) tools.Tool {
	a := t.Annotations()
	a.Result = card
	return t.Annotate(a)
}

func reads[In, Out any](name, title, category, action, text string, fn func(context.Context, In) (Out, error)) tools.Tool {
	return tools.New(name, text, fn).Annotate(tools.Annotations{Title: title, Category: category, Action: action, ReadOnly: true})
}

// adds returns a tool whose change is easy to undo.
func adds[In, Out any](name, title, category, action, text string, fn func(context.Context, In) (Out, error)) tools.Tool {
	return tools.New(name, text, fn).Annotate(tools.Annotations{Title: title, Category: category, Action: action})
}

// destroys returns a tool whose change is hard to undo. It is destructive: the user must confirm each call.
func destroys[In, Out any](name, title, category, action, text string, fn func(context.Context, In) (Out, error)) tools.Tool {
	return tools.New(name, text, fn).Annotate(tools.Annotations{Title: title, Category: category, Action: action, Destructive: true})
}
