package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/internal/rules"
)

// nothing is the answer if no sentence was found.
const nothing = "I found no passage about that."

var (
	task  = regexp.MustCompile(`(?m)^(Question|Topic): (.*)$`)
	whole = regexp.MustCompile(`(?i)^(?:what(?: is|['’]s)|summari[sz]e) (?:it|this|(?:this|the) (?:document|text|file))(?: about)?[?!. ]*$`)
	// forDate finds the words of a question that a date answers.
	forDate = regexp.MustCompile(`(?i)\b(when|due|deadlines?|dates?)\b`)
)

// answer answers a prompt: about findings, a topic or a question.
func answer(prompt string) string {
	if strings.HasPrefix(prompt, "Task: ") {
		return sought(prompt)
	}
	m := task.FindStringSubmatch(prompt)
	if m == nil {
		return nothing
	}
	all := sentences(prompt)
	if m[1] == "Topic" {
		title, _, _ := strings.Cut(m[2], ".")
		return onTopic(title, all)
	}
	if whole.MatchString(m[2]) {
		return "The document begins with:\n" + quote(all[:min(len(all), 3)])
	}
	return onQuestion(m[2], all)
}

// onQuestion quotes the sentences that have all words of a question, and the section whose heading has these words
// and no others, or else the passage that has all words. If the question asks for a date, onQuestion quotes only
// sentences with a date or a period, and ignores the words that ask for the date.
func onQuestion(question string, all []sentence) string {
	date := forDate.MatchString(question)
	question = forDate.ReplaceAllString(question, " ")
	asked := stems(question)
	if date {
		all = forms["Deadlines"].of(all)
		if len(asked) == 0 {
			return onTopic("Deadlines", all)
		}
	}
	found := slices.DeleteFunc(slices.Clone(all), func(s sentence) bool {
		return !within(asked, stems(s.text)) && !(within(asked, s.heading) && within(s.heading, asked))
	})
	if len(found) == 0 && !date {
		found = slices.DeleteFunc(slices.Clone(all), func(s sentence) bool { return !within(asked, s.passage) })
	}
	if len(asked) == 0 || len(found) == 0 {
		return "I found no passage with all words of your question."
	}
	return rules.Quoted(question, quote(found))
}

// onTopic quotes the sentences that have the form of a topic, and says that it looked at the form only. For a topic
// without a form, it quotes the first sentences.
func onTopic(title string, all []sentence) string {
	f, ok := forms[title]
	if !ok {
		return quote(all[:min(len(all), 3)])
	}
	found := f.of(all)
	if len(found) == 0 {
		return nothing
	}
	return fmt.Sprintf("%s\n\nRules list only sentences with %s. Others may be about it, too.", quote(found), f.with)
}

// maxQuoted is the maximum number of sentences that are quoted.
const maxQuoted = 10

// quote lists sentences with their lines.
func quote(found []sentence) string {
	var lines []string
	for _, s := range found[:min(len(found), maxQuoted)] {
		lines = append(lines, fmt.Sprintf("- %s [%s]", s.text, s.place))
	}
	if more := len(found) - maxQuoted; more > 0 {
		lines = append(lines, fmt.Sprintf("\nThese are the first %d of %d.", maxQuoted, len(found)))
	}
	return strings.Join(lines, "\n")
}

// sought returns the first sentence of each finding, and the topics without one.
func sought(prompt string) string {
	_, findings, _ := strings.Cut(prompt, "\n## ")
	var says, missing []string
	for _, f := range strings.Split(findings, "\n## ") {
		topic, text, _ := strings.Cut(strings.TrimSpace(f), "\n")
		first, _, _ := strings.Cut(text, "\n")
		if first == nothing || first == "" {
			missing = append(missing, topic)
			continue
		}
		says = append(says, "- "+strings.ToUpper(topic[:1])+topic[1:]+": "+strings.TrimPrefix(first, "- "))
	}
	out := strings.Join(says, "\n") + "\n\nRules picked the first sentence on each topic, and no language model."
	if len(missing) > 0 {
		out += " I found no passage about: " + strings.Join(missing, ", ") + "."
	}
	return strings.TrimSpace(out)
}
