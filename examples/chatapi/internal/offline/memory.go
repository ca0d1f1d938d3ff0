package offline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-go/weft/llm"
	"github.com/weft-go/weft/memory/agentmemory"
)

// forgetTool is the name of the application's tool.
const forgetTool = "forget_memory"

// newest are the arguments of recall_memory for the newest facts.
var newest = map[string]any{"query": "", "limit": 50}

// A fact is a fact in an answer of recall_memory.
type fact struct {
	Content string `json:"content"`
	Since   string `json:"since"` // a day
}

// facts parses the facts in an answer of recall_memory.
func facts(answer string) (list []fact) {
	for line := range strings.Lines(answer) {
		var f fact
		if json.Unmarshal([]byte(line), &f) == nil && f.Content != "" {
			list = append(list, f)
		}
	}
	return list
}

// moved finds a fact that may tell where the user lives.
var moved = regexp.MustCompile(`(?i)\bmoved (?:from|to)\b`)

// about returns the facts that have all the words, and no facts if there are no words.
func about(words []string, list []fact) (some []fact) {
	for _, f := range list {
		has := wordSet(f.Content)
		has["live"] = has["live"] || moved.MatchString(f.Content)
		if len(words) > 0 && hasAll(has, words) {
			some = append(some, f)
		}
	}
	return some
}

// owner matches the user, or a noun with its owner, in a text of plain: "your birthday" or "your sister's
// birthday".
var owner = regexp.MustCompile(`\b(?:(?:your|our)(?: \S*'\S*)* \S+|you|we)\b`)

// fitting returns the facts that contain every match of owner in the question.
func fitting(question string, list []fact) (some []fact) {
	owners := owner.FindAllString(plain(question), -1)
	for _, f := range list {
		said := " " + plain(f.Content) + " "
		if !slices.ContainsFunc(owners, func(o string) bool { return !strings.Contains(said, " "+o+" ") }) {
			some = append(some, f)
		}
	}
	return some
}

// plain returns the words of a text in the second person and in lower case, with one space between them.
func plain(text string) string {
	text = strings.ReplaceAll(strings.ToLower(toYou(text)), "’", "'")
	text = strings.ReplaceAll(text, "you'", "you '") // "you've"
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r != '\'' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}

// told returns an answer that lists the facts, or an empty text if there are none.
func told(list []fact) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return "You told me:\n- " + toYou(list[0].Content)
	}
	return "You told me:" + dated(list)
}

// dated returns a list of the facts with their dates, in the second person.
func dated(list []fact) (text string) {
	for _, f := range list {
		text += fmt.Sprintf("\n- %s (%s)", toYou(f.Content), f.Since)
	}
	return text
}

// remember stores a fact and confirms it.
func (t talk) remember(content string) llm.Message {
	if _, called := t.answerOf(agentmemory.StoreTool); !called {
		return t.call(agentmemory.StoreTool, map[string]any{"content": content, "evidence": content})
	}
	return llm.Assistant("I will remember that " + toYou(content) + ".")
}

// tellAll lists the facts about the user.
func (t talk) tellAll() llm.Message {
	answer, called := t.answerOf(agentmemory.RecallTool)
	if !called {
		return t.call(agentmemory.RecallTool, newest)
	}
	if list := facts(answer); len(list) > 1 {
		return llm.Assistant("You told me, the newest first:" + dated(list))
	}
	return llm.Assistant(cmp.Or(told(facts(answer)), "I remember nothing about this."))
}

// forget calls forget_memory for the facts that have all keywords of the topic, and lists the deleted
// facts.
func (t talk) forget(topic string) llm.Message {
	if answer, called := t.answerOf(forgetTool); called {
		return llm.Assistant(forgotten(answer))
	}
	answer, called := t.answerOf(agentmemory.RecallTool)
	if !called {
		return t.call(agentmemory.RecallTool, newest)
	}
	known := facts(answer)
	if len(known) == 0 {
		return llm.Assistant("There is nothing to forget: I remember nothing about you.")
	}
	if everything.MatchString(topic) {
		return t.call(forgetTool, map[string]any{"everything": true})
	}
	var contents []string
	for _, f := range about(keywords(topic), known) {
		contents = append(contents, f.Content)
	}
	if len(contents) == 0 {
		return llm.Assistant(fmt.Sprintf("I forgot nothing: nothing that I remember has the words %q. I remember:%s\n\nSay \"forget\" with words of one of these.",
			topic, dated(known)))
	}
	return t.call(forgetTool, map[string]any{"facts": contents})
}

// forgotten turns the result of forget_memory into an answer.
func forgotten(answer string) string {
	var out struct {
		Forgotten []string `json:"forgotten"`
		More      int      `json:"more"`
		Stays     string   `json:"stays"`
	}
	if err := json.Unmarshal([]byte(answer), &out); err != nil {
		return answer
	}
	text := "I forgot:"
	if len(out.Forgotten) == 0 {
		text = "This was forgotten already."
	}
	for _, fact := range out.Forgotten {
		text += "\n- " + toYou(fact)
	}
	if out.More > 0 {
		text += fmt.Sprintf("\n\n%d more facts were forgotten.", out.More)
	}
	return text + "\n\n" + out.Stays
}

var (
	first = regexp.MustCompile(`(?i)\bI(?: am|'m|’m| was)\b|\bim\b|\b(?:I|me|my|mine|myself)\b`)
	you   = map[string]string{
		"i am": "you are", "i'm": "you are", "im": "you are", "i’m": "you are", "i was": "you were",
		"i": "you", "me": "you", "my": "your", "mine": "yours", "myself": "yourself",
	}
)

// toYou changes "I" and "my" to "you" and "your".
func toYou(text string) string {
	return first.ReplaceAllStringFunc(text, func(word string) string { return you[strings.ToLower(word)] })
}
