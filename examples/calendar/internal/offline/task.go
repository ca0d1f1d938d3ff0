package offline

import (
	"fmt"
	"strings"
	"time"
)

func (d *dialog) task(c clause, pick int) ([]act, error) {
	topic := c.fields["topic"]
	switch c.kind {
	case listTasks:
		d.notSelected(c, "to-do", "to-dos", "reminder", "reminders", "open", "left", "do", "done", "finished")
		return nil, d.show("task", "list", object{"done": strings.Contains(strings.ToLower(c.text), "all")})
	case createTask:
		w := timesOf(topic, d.now)
		params := object{"title": unquote(ends.ReplaceAllString(w.rest, ""))}
		if w.part != "" && !w.clock {
			params["title"] = fmt.Sprintf("%s (%s)", params["title"], w.part)
		}
		switch {
		case w.clock:
			params["due"] = w.from.Format(localTime)
		case w.day || w.part != "":
			params["due"] = w.to.Format(time.DateOnly)
		}
		return d.act("task", "create", params)
	}
	tool, err := d.find("task", doing[c.kind])
	if err != nil {
		return nil, err
	}
	found, err := d.chosen(c, "task", "task", topic, object{}, pick)
	var acts []act
	for _, i := range found {
		acts = append(acts, act{tool, object{"task_id": i.Task}})
	}
	return acts, err
}
