package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weft-go/weft/examples/research/internal/document"
)

// nothing is what is said of a topic on which no sentence was found.
const nothing = "I found no passage about that."

// A sentence is quoted with its lines.
type sentence struct {
	place, text string
	passage     int
	// around are the words of its passage and the heading.
	around map[string]bool
}

var (
	task    = regexp.MustCompile(`(?m)^(Question|Topic): (.*)$`)
	heading = regexp.MustCompile(`^Under "(.*)":$`)
	line    = regexp.MustCompile(`^\[(\d+)\] (.*)$`)
	mark    = regexp.MustCompile(`^([-*+•]|\d+[.)]|\([a-z0-9]+\))\s+`) // of an entry of a list
	whole   = regexp.MustCompile(`(?i)\b(document|text|file|this|it) about\b|\bsummar(y|i[sz]e)\b`)
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
		return onTopic(m[2], all)
	}
	if whole.MatchString(m[2]) {
		return "The document begins with:\n" + quote(all[:min(len(all), 3)])
	}
	return newQuestion(m[2], all).answer(all)
}

func sentences(prompt string) []sentence {
	var all []sentence
	for n, passage := range strings.Split(prompt, "\n\n") {
		title, text := "", ""
		var numbers []string // of the line of each byte of the text
		for l := range strings.SplitSeq(passage, "\n") {
			if m := heading.FindStringSubmatch(l); m != nil {
				title = m[1]
			} else if m := line.FindStringSubmatch(l); m != nil {
				text += m[2] + " "
				numbers = append(numbers, slices.Repeat([]string{m[1]}, len(m[2])+1)...)
			}
		}
		if strings.Contains(text, "```") {
			continue // code, and no sentences
		}
		around := set(document.Words(title + " " + text))
		end := 0
		for _, s := range document.Sentences(text) {
			from := end + strings.Index(text[end:], s)
			end = from + len(s)
			place := numbers[from]
			if last := numbers[end-1]; last != place {
				place += "-" + last
			}
			all = append(all, sentence{place, mark.ReplaceAllString(s, ""), n, around})
		}
	}
	return all
}

func set(words []string) map[string]bool {
	out := map[string]bool{}
	for _, w := range words {
		out[w] = true
	}
	return out
}

func quote(list []sentence) string {
	if len(list) == 0 {
		return nothing
	}
	lines := make([]string, len(list))
	for i, s := range list {
		if runes := []rune(s.text); len(runes) > 300 {
			s.text = string(runes[:299]) + "…"
		}
		lines[i] = fmt.Sprintf("- %s [%s]", s.text, s.place)
	}
	return strings.Join(lines, "\n")
}

// maxOnTopic is how many sentences are quoted on a topic.
const maxOnTopic = 10

// onTopic quotes the sentences that have the form of a topic, and says that it looked at the form only. A topic of no kind
// is what the document begins with.
func onTopic(topic string, all []sentence) string {
	k := kindOf(topic)
	if k == nil {
		return quote(all[:min(len(all), 3)])
	}
	found := slices.DeleteFunc(slices.Clone(all), func(s sentence) bool { return !k.form.MatchString(s.text) })
	if len(found) == 0 {
		return nothing
	}
	shown, part := found, ""
	if len(found) > maxOnTopic {
		shown, part = found[:maxOnTopic], fmt.Sprintf(", the first %d of %d", maxOnTopic, len(found))
	}
	return fmt.Sprintf("%s\n\nRules list only sentences with %s%s. Others may be about it, too.", quote(shown), k.with, part)
}

// sought says of findings what is sought and what was not found.
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
