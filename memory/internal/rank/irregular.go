package rank

import (
	"slices"
	"strings"
)

// lines calls f with the words of each entry of a table: entries end with a semicolon or a line.
func lines(table string, f func(words []string)) {
	for entry := range strings.FieldsFuncSeq(table, func(r rune) bool { return r == ';' || r == '\n' }) {
		if words := strings.Fields(entry); len(words) > 0 {
			f(words)
		}
	}
}

// irregular has what the forms are found by that no rule leads to: the bases of all the words that each may be.
var irregular = map[string][]string{}

func init() {
	lines(respelled, func(words []string) {
		for _, w := range words[1:] {
			spellings[regular(w)] = regular(words[0])
		}
	})
	lines(irregularForms, func(words []string) {
		base := regular(words[0])
		for _, w := range words {
			if !slices.Contains(irregular[w], base) {
				irregular[w] = append(irregular[w], base)
			}
		}
	})
	lines(madeWords, func(words []string) {
		base := stem(words[0])
		for _, w := range words[1:] {
			for _, form := range []string{w, w + "s"} {
				if len(irregular[form]) == 0 {
					irregular[form] = []string{base}
				}
			}
		}
	})
}

// irregularForms has words, each with the forms that no rule leads to it from. A form of two words stands with
// both: "left" is of "leave", and a word itself.
const irregularForms = `
child children;grandchild grandchildren;man men;woman women;person people persons;foot feet;tooth teeth;mouse mice;goose geese;louse lice;ox oxen
die dice;life lives;live lives;wife wives;knife knives;leaf leaves;leave leaves;shelf shelves;half halves;wolf wolves;calf calves;thief thieves
loaf loaves;self selves;elf elves;sheaf sheaves;scarf scarves;hoof hooves;wharf wharves;dwarf dwarves;bus buses busses;gas gases gasses
birthday birthdays;birth births born birthday birthdays;quiz quizzes quizzed quizzing;lens lenses;axis axes;axe axes;basis bases;base bases;crisis crises;oasis oases;thesis theses;testis testes
index indexes indices;matrix matrices;vertex vertices;vortex vortices;apex apices;appendix appendices;codex codices
datum data;medium media;bacterium bacteria;criterion criteria;phenomenon phenomena;curriculum curricula;stratum strata
alumnus alumni;cactus cacti;fungus fungi;nucleus nuclei;radius radii;stimulus stimuli;syllabus syllabi;focus foci
formula formulae;larva larvae;vertebra vertebrae;antenna antennae;genus genera;corpus corpora;news;series;species;canoe canoes;horseshoe horseshoes
taxi taxis;ski skis skiing skied;alibi alibis;bikini bikinis;broccoli broccolis;chilli chillis;deli delis;emoji emojis;kiwi kiwis;khaki khakis
martini martinis;mini minis;rabbi rabbis;safari safaris;sari saris;semi semis;spaghetti;taxi taxied taxiing;tsunami tsunamis;wiki wikis;yeti yetis
zucchini zucchinis;panini paninis;corgi corgis;pi pis
become became;begin began begun beginning;bear bore borne bear;bore;beat beaten;bend bent;bite bit bitten;bit;bleed bled;blow blew blown
break broke broken;broke;breed bred;bring brought;build built;burn burnt;buy bought;catch caught;choose chose chosen;cling clung;come came;creep crept
deal dealt;die dying died;dig dug;draw drew drawn;dream dreamt;drink drank drunk;drive drove driven;dye dyeing dyed dyes
eat ate eaten;fall fell fallen;feed fed;feel felt;felt;fight fought;find found;found;flee fled;fling flung;fly flew flown;forbid forbade forbidden
forget forgot forgotten;forgive forgave forgiven;freeze froze frozen;get got gotten;give gave given;go goes going went gone;grind ground;ground
grow grew grown;hang hung;hear heard;hide hid hidden;hold held;keep kept;kneel knelt;know knew known;lay laid;lead led;lean leant;leap leapt;learn learnt
leave left;left;lend lent;lie lying lied lies;lie lay lain;lay;light lit;lose lost;make made;mean meant;meet met;mistake mistook mistaken;overcome overcame
pay paid;prove proven;ride rode ridden;ring rang rung;rise rose risen;rose;run ran;say said;see saw seen;saw;seek sought;sell sold;send sent;sew sewn
shake shook shaken;shine shone;shoe shod;shoot shot;shot;show shown;shrink shrank shrunk;sing sang sung;sink sank sunk;sit sat;sleep slept;slide slid
smell smelt;sow sown;speak spoke spoken;spoke;spell spelt;spend spent;spill spilt;spin spun;spoil spoilt;spring sprang sprung;stand stood
steal stole stolen;stick stuck;sting stung;stink stank stunk;strike struck;swear swore sworn;sweep swept;swell swollen;swim swam swum;swing swung
take took taken;teach taught;tear tore torn;tell told;think thought;thought;throw threw thrown;tie tying;tread trod trodden;understand understood
vie vying;wake woke woken;wear wore worn;weave wove woven;weep wept;win won;wind wound;wound;withdraw withdrew withdrawn;write wrote written
bad worse worst;worse;worst;far farther farthest further furthest;further;good better best;better;best;little less least;less;least
big bigger biggest;dim dimmer dimmest;fat fatter fattest;fit fitter fittest;flat flatter flattest;flatter;glad gladder;hot hotter hottest;mad madder maddest
red redder reddest;sad sadder saddest;slim slimmer slimmest;thin thinner thinnest;wet wetter wettest;dry drier driest dryer dryers;shy shyer shyest
able abler ablest;black blacker blackest;bold bolder boldest;brave braver bravest;bright brighter brightest;broad broader broadest;cheap cheaper cheapest
clean cleanest;clear clearer clearest;clever cleverer cleverest;close closer closest;cold colder coldest;cool coolest;cute cuter cutest;damp damper
dark darker darkest;dear dearest;deep deeper deepest;fair fairer fairest;fast faster fastest;few fewer fewest;fine finer finest;firm firmer;fresh fresher freshest
full fuller fullest;gentle gentler gentlest;great greater greatest;hard harder hardest;high higher highest;kind kinder kindest;large larger largest
late later latest;light lighter lightest;lighter;long longer longest;loud louder loudest;low lower lowest;mild milder mildest;narrow narrower narrowest
near nearer nearest;neat neater neatest;new newer newest;nice nicer nicest;old older oldest elder eldest;plain plainer;poor poorer poorest
proud prouder proudest;quick quicker quickest;quiet quieter quietest;rare rarer rarest;rich richer richest;rough rougher roughest;safe safer safest
sharp sharper sharpest;short shorter shortest;simple simpler simplest;slight slighter slightest;slow slower slowest;small smaller smallest;smart smarter smartest
smooth smoother smoothest;soft softer softest;soon sooner soonest;sour sourer;steep steeper steepest;strange stranger strangest;stranger;strict stricter strictest
strong stronger strongest;sweet sweeter sweetest;tall taller tallest;thick thicker thickest;tight tighter tightest;tough tougher toughest;warm warmer warmest
weak weaker weakest;white whiter whitest;wide wider widest;wild wilder wildest;wise wiser wisest;young younger youngest
`

// madeWords has words, each with those that are made of it in a way that no rule knows.
const madeWords = `
act actor action;apply application;multiply multiplication;imply implication;advise advice;argue argument;asthma asthmatic;beg beggar;behave behaviour behavior;believe belief believer;breathe breath;bathe bath
choose choice;close closure;cloth clothes clothing;compete competition competitor;cycle cyclist;deceive deceit;deliver delivery;defend defence defense defensive
dentist dental;depart departure;destroy destruction;diabetes diabetic;die death dead;differ different difference;discover discovery;divide division
dine dinner diner;drama dramatic;enter entrance entry;explain explanation;expense expensive;fail failure;famous fame;fly flight;give gift
govern governor;grow growth;hate hatred;high height;hunger hungry;important importance;injure injury;intelligent intelligence;know knowledge
laugh laughter;law lawyer;lie liar;long length;lose loss;maintain maintenance;marry marriage;math maths mathematic mathematical mathematician
medicine medical medication;mix mixture;mountain mountaineer;move movement;music musician musical;oppose opposition;own owner
photo photograph photographer photography;physics physicist;poem poet poetry;poison poisonous;politics politic political politician;pregnant pregnancy
pronounce pronunciation;prove proof;pursue pursuit;receive recipient;recover recovery;relieve relief;repeat repetition;respond response;retire retiree;safe safety
sail sailor;science scientist scientific;sell sale seller;serve service servant;sign signature;sing song singer;speak speech;strong strength;study student
succeed success successful;thirst thirsty;tour tourist tourism;travel traveller traveler;true truth;use usage;vary variety variation;view viewer
war warrior;warm warmth;weigh weight;wide width;win winner;wise wisdom;run runner;swim swimmer;begin beginner;plan planner;shop shopper;jog jogger
drum drummer;rob robber;spin spinner;trim trimmer;print printer;scan scanner;teach teacher;write writer;drive driver;ride rider
`
