package recall

import (
	"strings"
)

// knownItems asks for the section that a title belongs to.
func knownItems(manual []section) Set {
	set := Set{Name: "title → section"}
	times := map[string]int{}
	for _, s := range manual {
		times[strings.ToLower(s.title)]++
	}
	for _, s := range manual {
		body := strings.Join(s.paragraphs, "\n")
		if len(body) < 200 {
			continue
		}
		set.Documents = append(set.Documents, Document{Text: body})
		if times[strings.ToLower(s.title)] == 1 && s.title != "" {
			set.Questions = append(set.Questions, Question{s.title, []int{len(set.Documents) - 1}})
		}
	}
	return set
}

// paragraphs asks for the paragraphs of the section that a title belongs to.
func paragraphs(manual []section) Set {
	set := Set{Name: "title → paragraphs"}
	times := map[string]int{}
	position := map[string]int64{}
	for _, s := range manual {
		times[strings.ToLower(s.title)]++
	}
	for _, s := range manual {
		q := Question{Text: s.title}
		for _, p := range s.paragraphs {
			position[s.page]++
			q.Answers = append(q.Answers, len(set.Documents))
			set.Documents = append(set.Documents, Document{p, s.page, position[s.page]})
		}
		if n := len(q.Answers); n >= 2 && n <= 10 && times[strings.ToLower(s.title)] == 1 {
			set.Questions = append(set.Questions, q)
		}
	}
	return set
}

// definitions asks with one dictionary's definition of a word for what another says of it. Neither has the
// word.
func definitions(webster []entry, sets []synset) Set {
	set := Set{Name: "definition → definition"}
	said := map[string]int{}
	text := map[string]string{}
	var words []string
	for _, e := range webster {
		if strings.ContainsAny(e.word, " -") || len(e.word) < 4 {
			continue
		}
		if _, ok := text[e.word]; !ok {
			words = append(words, e.word)
		}
		text[e.word] += e.text + "\n"
	}
	for _, w := range words {
		if t := cutWords(without(text[w], w), 60); len(t) > 40 {
			said[w] = len(set.Documents)
			set.Documents = append(set.Documents, Document{Text: t})
		}
	}
	count := senses(sets)
	for _, s := range sets {
		w := s.words[0]
		i, ok := said[w]
		if ok && count[w] == 1 && len(s.gloss) > 30 {
			set.Questions = append(set.Questions, Question{without(s.gloss, s.words...), []int{i}})
		}
	}
	set.Questions = sample(set.Questions, 1500)
	return set
}

// cutWords returns the first n words.
func cutWords(text string, n int) string {
	words := strings.Fields(text)
	return strings.Join(words[:min(n, len(words))], " ")
}
