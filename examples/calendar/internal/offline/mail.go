package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

func (d *dialog) listMail(said words) ([]act, error) {
	return nil, d.show("mail", "list", object{"folder": "inbox", "unread": said["unread"] != ""})
}

// mailsFrom returns the mails from somebody.
func (d *dialog) mailsFrom(name string) ([]item, error) {
	found, err := d.search("mail", object{"query": name})
	return slices.DeleteFunc(found, func(i item) bool { return !mentions(i.From, name) }), err
}

func (d *dialog) readMail(said words) ([]act, error) {
	found, err := d.mailsFrom(said["name"])
	if err != nil {
		return nil, err
	}
	one, err := only(found, "mail from", said)
	if err != nil {
		return nil, err
	}
	return d.act("mail", "get", object{"mail_id": one.Mail})
}

var address = regexp.MustCompile(`[^\s<>]+@[^\s<>]+`)

// sendMail sends a mail to an address, or to a person, whose address is read from the person's mails.
func (d *dialog) sendMail(said words) ([]act, error) {
	to := said["name"]
	if address.FindString(to) != to {
		found, err := d.mailsFrom(to)
		if err != nil {
			return nil, err
		}
		var known []string
		for _, one := range found {
			known = append(known, address.FindAllString(one.From, 1)...)
		}
		slices.Sort(known)
		if known = slices.Compact(known); len(known) != 1 {
			return nil, blocker(fmt.Sprintf("I know %d mail addresses of '%s', so I did nothing. Tell me the address.", len(known), to))
		}
		to = known[0]
	}
	subject := cmp.Or(said["subject"], said["body"])
	return d.act("mail", "send", object{"to": []string{to}, "subject": subject, "text": said["body"]})
}

// replyMail answers a mail from the list that the previous turn has shown.
func (d *dialog) replyMail(said words) ([]act, error) {
	var list []item
	if len(d.before) == 2 { // one call found the tool, and one called it
		_ = json.Unmarshal([]byte(d.before[1].Text()), &list) // any other answer gives no item with an address
	}
	at := slices.Index([]string{"first", "second", "third"}, strings.ToLower(said["place"]))
	if at < 0 || at >= len(list) || !address.MatchString(list[at].From) {
		return nil, blocker("I do not know which mail is meant, so I did nothing. Ask for your mail first: any mail?")
	}
	subject := list[at].Subject
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = "Re: " + subject
	}
	return d.act("mail", "send", object{"to": []string{address.FindString(list[at].From)}, "subject": subject, "text": said["body"]})
}
