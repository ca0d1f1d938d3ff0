package rank

import "strings"

// An ending makes a word of another one.
type ending struct {
	suffix, instead string
	letters         int // that are left, at least
	syllables       int
}

// endings are tried from the first on. What is left of them meets the word that it is a form of; where that is no word, it does no harm.
var endings = []ending{
	{"ification", "ify", 1, 0},
	{"isation", "ize", 2, 1},
	{"ization", "ize", 2, 1},
	{"scription", "scribe", 0, 0},
	{"ception", "ceive", 2, 1},
	{"sumption", "sume", 2, 1},
	{"duction", "duce", 2, 1},
	{"olution", "olve", 1, 0},
	{"osition", "ose", 2, 1},
	{"mission", "mit", 2, 1},
	{"nsion", "nd", 2, 1},
	{"usion", "ude", 3, 1},
	{"ision", "ide", 3, 1},
	{"ersion", "ert", 3, 1},
	{"ment", "", 3, 1},
	{"iness", "y", 3, 1},
	{"ness", "", 3, 1},
	{"riage", "ry", 2, 1},
	{"ieval", "ieve", 2, 0},
	{"ival", "ive", 2, 1},
	{"oval", "ove", 2, 1},
	{"osal", "ose", 2, 1},
	{"usal", "use", 2, 1},
	{"ence", "", 4, 2},
	{"ance", "", 4, 2},
	{"ency", "", 4, 2},
	{"ancy", "", 4, 2},
	{"ily", "y", 3, 1},
	{"ally", "al", 3, 1},
	{"ly", "", 4, 1},
	{"iful", "y", 3, 1},
	{"ful", "", 3, 1},
	{"iable", "y", 3, 1},
	{"able", "", 4, 1},
	{"ship", "", 4, 1},
	{"hood", "", 4, 1},
	{"tor", "t", 4, 2},
	{"sor", "s", 4, 2},
	{"ility", "le", 3, 1},
	{"ity", "", 5, 2},
	{"gical", "gy", 3, 1},
	{"mical", "my", 3, 1},
	{"phical", "phy", 3, 1},
	{"trical", "try", 3, 1},
	{"gic", "gy", 3, 2},
	{"mic", "my", 4, 2},
	{"phic", "phy", 4, 1},
	{"tric", "try", 4, 1},
	{"ifier", "ify", 2, 0},
	{"er", "", 3, 1},
}

// root returns the word that another is made of, "" if there is none: manage of management.
func root(word string) string {
	n := len(word)
	if n < 6 || len(byLetter[word[n-1]]) == 0 || simpleWords[word] {
		return ""
	}
	for _, e := range byLetter[word[n-1]] {
		if !strings.HasSuffix(word, e.suffix) {
			continue
		}
		rest := word[:n-len(e.suffix)]
		if len(rest) < e.letters || vowels(rest) < e.syllables {
			return ""
		}
		if e.suffix == "er" && rest[len(rest)-1] == 'e' { // career
			return ""
		}
		if e.instead != "" {
			return rest + e.instead
		}
		if vowel(e.suffix, 0) {
			return restore(word, rest)
		}
		return rest
	}
	return ""
}

// byLetter has the endings by the letter that they end with.
var byLetter = func() (by [256][]ending) {
	for _, e := range endings {
		last := e.suffix[len(e.suffix)-1]
		by[last] = append(by[last], e)
	}
	return by
}()

// simpleWords look as if they were made of another word that has nothing to do with them. Words that would become no other one
// are not here.
var simpleWords = wordSet(`
	after amber anger answer banner barber barrier barrister batter better bitter border bother brother buffer bumper butter butcher
	cancer carrier cashier cater cavalier cellar center chapter character charter cipher cloister computer copper copier corner counter courier cover
	customer daughter december deliver differ dinner discover eager encounter ever fever fiber filter finger flower folder foster founder frontier
	gather gender glacier hammer hamper header hinder however hunger ladder latter layer leather ledger letter lever limber litter liter liver lobster lower
	manner master matter member meter minister mister monster mother murder neither never november number october offer officer order other otter
	pamper panther paper partner pepper poster power premier primer prisoner proper quarter rapier rather recover refer register remember river rubber rudder
	scooter september server shelter shower shoulder shutter silver sister slander slipper soldier sober spider sponsor stutter suffer summer super supper
	sweater taper tapper temper tender terrier theater thunder tiger timber together toner topper tower tuber tumbler under upper user utter
	wander water weather whether whisper winter wither wonder
	apartment cement comment compartment department document element fragment garment moment monument ornament parliament pavement pigment segment
	sentiment testament tournament commandment business governess harness lioness likeness witness
	authority celebrity charity community identity university universality author edition addition convention portion position
	audience balance distance evidence finance importance instance romance sentence science violence violent vengeance
	anomaly apply assembly belly butterfly daily early family hardly italy jelly july likely monopoly namely nearly only reply supply ugly
	cable constable fable portable stable table vegetable viable parable
	former trigger drawer potter chatter broker clover confer defer infer prefer transfer variable probable probability pension mansion tension
	experiment statement compliment hospitality sincer comply imply multiply underly commission contention objection affection procession
	formation replication
	doctor factor monitor motor pastor professor sector sensor tutor vector victor tractor
	academic comic dynamic electric generic logic magic metric music panic public topic tragic strategic
	carnival festival interval naval rival`)
