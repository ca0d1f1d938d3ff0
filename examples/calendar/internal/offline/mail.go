package offline

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

func (d *dialog) mail(c clause, pick int) ([]act, error) {
	lower := strings.ToLower(c.text)
	switch c.kind {
	case listMail:
		params := object{"unread": strings.Contains(lower, "unread") || strings.Contains(lower, "new ")}
		for _, folder := range []string{"sent", "archive"} {
			if strings.Contains(lower, folder) {
				params["folder"] = folder
			}
		}
		d.notSelected(c, "inbox", "unread", "new", "check", "read", "sent", "archive", "archived", "folder", "there", "mailbox")
		return nil, d.show("mail", "list", params)
	case searchMail:
		return nil, d.show("mail", "search", object{"query": query(c.fields["topic"])})
	}
	tool, err := d.find("mail", doing[c.kind])
	if err != nil {
		return nil, err
	}
	found, err := d.chosen(c, "mail", "mail", c.fields["topic"], object{}, pick)
	var acts []act
	for _, i := range found {
		acts = append(acts, act{tool, object{"mail_id": i.Mail}})
	}
	return acts, err
}

var address = regexp.MustCompile(`[^\s<>]+@[^\s<>]+`)

// sendMail sends a mail. Somebody without an address is looked for in the mail.
func (d *dialog) sendMail(c clause) ([]act, error) {
	to := strings.Trim(c.fields["who"], ",:")
	if !strings.Contains(to, "@") {
		answer, err := d.invoke("mail", "search", object{"query": to})
		if err != nil {
			return nil, err
		}
		var found []item
		_ = json.Unmarshal([]byte(answer.Text()), &found) // an error finds nobody
		name := to
		to = ""
		for _, i := range found {
			if strings.Contains(strings.ToLower(i.From), strings.ToLower(name)) && to == "" {
				to = address.FindString(i.From)
			}
		}
		if to == "" {
			return nil, blocker(fmt.Sprintf("I know no mail address of %s. Tell me one, and I will write.", name))
		}
	}
	subject, body := unquote(c.fields["subject"]), unquote(c.fields["body"])
	if body == "" && subject == "" {
		return nil, blocker(fmt.Sprintf("What shall I write to %s? Say it with: saying …", to))
	}
	if body == "" {
		body = subject
	}
	if subject == "" {
		subject = body
		if words := strings.Fields(body); len(words) > 6 {
			subject = strings.Join(words[:6], " ") + " …"
		}
	}
	return d.act("mail", "send", object{"to": []string{to}, "subject": subject, "text": body})
}
