package offline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const localTime = "2006-01-02T15:04"

func (d *dialog) listEvents(said words) ([]act, error) {
	w, err := d.when(said["time"])
	if err != nil {
		return nil, err
	}
	return nil, d.show("calendar", "list", w.span())
}

func (d *dialog) freeTime(said words) ([]act, error) {
	w, err := d.when(said["time"])
	if err != nil {
		return nil, err
	}
	params := w.span()
	if w.exact && w.to.After(w.from) {
		params["minutes"] = min(30, int(w.to.Sub(w.from).Minutes())) // the whole range, if it is shorter than 30 minutes
	}
	return nil, d.show("calendar", "free", params)
}

func (d *dialog) searchEvents(said words) ([]act, error) {
	params, err := d.named(said)
	if err != nil {
		return nil, err
	}
	return nil, d.show("calendar", "search", params)
}

// general are words that an event does not need to have.
var general = strings.Fields("meeting appointment event with")

// named returns the arguments of a search: the words of a name without general words, and the day.
func (d *dialog) named(said words) (object, error) {
	w, err := d.when(said["day"])
	if err != nil {
		return nil, err
	}
	query := slices.DeleteFunc(strings.Fields(said["name"]), func(word string) bool { return slices.Contains(general, strings.ToLower(word)) })
	if len(query) == 0 {
		return nil, blocker("I do not know which event is meant, so I did nothing. Say its name.")
	}
	params := w.span()
	params["query"] = strings.Join(query, " ")
	return params, nil
}

// event finds the one event that the sentence names.
func (d *dialog) event(said words) (item, error) {
	params, err := d.named(said)
	if err != nil {
		return item{}, err
	}
	found, err := d.search("calendar", params)
	if err != nil {
		return item{}, err
	}
	return only(found, "event that mentions", said)
}

// begin returns the new start of an event as an argument of a tool, and the end if the sentence has one.
func (d *dialog) begin(said words) (object, error) {
	w, err := d.when(said["time"])
	switch {
	case err != nil:
		return nil, err
	case !w.exact:
		return nil, blocker(fmt.Sprintf("When is '%s' to be? Tell me all of it again with a day and a time at the end, such as: on Friday at 3pm.", said["name"]))
	case w.to.Equal(w.from):
		return object{"start": w.from.Format(localTime)}, nil
	}
	return object{"start": w.from.Format(localTime), "end": w.to.Format(localTime)}, nil
}

func (d *dialog) createEvent(said words) ([]act, error) {
	params, err := d.begin(said)
	if err != nil {
		return nil, err
	}
	title := []rune(said["name"])
	title[0] = unicode.ToUpper(title[0])
	params["title"] = string(title)
	return d.act("calendar", "create", params)
}

func (d *dialog) moveEvent(said words) ([]act, error) {
	params, err := d.begin(said)
	if err != nil {
		return nil, err
	}
	found, err := d.event(said)
	if err != nil {
		return nil, err
	}
	params["event_id"] = found.Event
	return d.act("calendar", "update", params)
}

func (d *dialog) deleteEvent(said words) ([]act, error) {
	found, err := d.event(said)
	if err != nil {
		return nil, err
	}
	return d.act("calendar", "delete", object{"event_id": found.Event})
}
