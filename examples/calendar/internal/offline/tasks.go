package offline

import (
	"slices"
	"time"
)

func (d *dialog) listTasks(words) ([]act, error) { return nil, d.show("task", "list", object{}) }

func (d *dialog) createTask(said words) ([]act, error) {
	params := object{"title": said["name"]}
	w, err := d.when(said["day"])
	if err != nil {
		return nil, err
	}
	if said["day"] != "" {
		params["due"] = w.to.Format(time.DateOnly)
	}
	return d.act("task", "create", params)
}

func (d *dialog) completeTask(said words) ([]act, error) {
	found, err := d.search("task", object{"query": said["name"]})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(i item) bool { return i.Done != "" || !mentions(i.Title, said["name"]) })
	one, err := only(found, "task that mentions", said)
	if err != nil {
		return nil, err
	}
	return d.act("task", "complete", object{"task_id": one.Task})
}
