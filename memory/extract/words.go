package extract

import (
	"maps"
	"strings"

	"github.com/weft-go/weft/memory/internal/rank"
)

// The lists below are of words as [tokens] has them: in lower case, without apostrophes.

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// framing are words with which a fact says whose it is, and that say nothing of their own.
var framing = setOf(`user users person customer client they she he hers his him their theirs is are am was has have had got own owns
	name named names called call calls says said states stated mentions mentioned told tells since now currently old years year age aged
	nutzer nutzerin nutzers benutzer benutzerin utilisateur utilisatrice usuario usuaria utente usuário usuária utilizador utilizadora gebruiker gebruikster
	användaren brukeren użytkownik użytkowniczka χρήστης χρήστρια χρήστη пользователь пользователя пользовательница
	s a an the i im ive id me my mine myself we weve our ours us were theyre shes hes youre`)

// fillers are words that a user may say besides, and a fact leave out.
var fillers = setOf(`please thanks thank hi hello hey well ok okay oh btw fyi way also just so actually really currently recently finally
	still now only very quite too always usually often generally normally mostly definitely absolutely totally certainly surely yes yeah sure
	remember note save store keep mind memory memorise memorize forget know tell guess think believe mean let lets
	future on of course by and or because that this can could will would you dont sorry today here there im i
	übrigens bitte merk merke dir dass also ja danke hallo au fait souviens toi que bonjour merci por favor recuerda oye hola gracias
	γεια χαίρετε привет здравствуйте olá hej hei cześć ricorda ricordati che ciao grazie lembra lembre lembrete trouwens onthoud dat`)

// others are the subjects of sentences that are not of the user.
var others = setOf(`he she they you someone somebody everyone everybody nobody anyone anybody people one
	hes shes theyre youre er il elle él ella ele ela lui lei hij zij`)

// negations turn what is said round, whichever of them it is.
var negations = setOf(`not no never none nobody nothing nowhere neither nor without hardly barely cannot non
	dont doesnt didnt isnt arent wasnt werent wont wouldnt cant couldnt shouldnt havent hasnt hadnt aint mustnt neednt
	nicht kein keine keinen keinem keiner keines nie niemals ohne nichts niemand pas jamais sans aucun aucune rien nunca jamás sin ningún ninguno ninguna nada
	senza nessun nessuno niente não nao sem nenhum nenhuma niet geen nooit zonder niks ingen inget inga aldrig inte utan ikke aldri
	δεν δε μην μη ποτέ χωρίς όχι κανένας καμία не нет никогда без ничего никто nie bez nigdy nikt nic
	不 没 沒 無 无 非 未 别 勿`)

// turning are words that a fact has to keep: without one it would say something else.
var turning = setOf(`stop stopped stops quit avoid avoids refuse refused hate hates hated dislike dislikes disliked former formerly ex almost nearly
	if unless would could might should maybe perhaps possibly wish hope hopes pretend joke joking kidding imagine suppose assume hypothetically
	false wrong untrue lie lying deny denies doubt doubts except until instead rarely seldom forgot cancel cancelled canceled lost allergic intolerant
	used prohibit forbidden forbid ban banned unlike versus against
	wenn falls hasse früher fast würde könnte vielleicht si quizás tal vez odio odia peut-être déteste ancien se forse odeia als misschien
	αν ίσως μισώ если ненавижу бывший 如果 讨厌`)

// reporting are words with which a user tells what somebody or something else says.
var reporting = setOf(`says say said wrote writes write written states stated reads claims claimed claim according quote quoted quotes mentions
	mentioned asks asked told tells insists suggests recommends orders ordered sagt schreibt steht laut dit écrit selon dice escribe según scrive secondo diz zegt`)

// papers are what is read and not said by a person.
var papers = setOf(`document documents doc page pages website site article email mail message file files text report letter pdf tool output result results
	log note notes manual handbook policy form ticket review reviews book comment prompt instruction instructions system assistant bot model
	dokument seite artikel datei bericht brief documento página archivo pagina texte fichier`)

// asking are words that a question begins with.
var asking = setOf(`how what which who whose whom why where whats hows whos wheres`)

// askingElsewhere are such words of other languages.
var askingElsewhere = setOf(`wie was welche welcher wer warum wo wann wieso comment quoi quel quelle qui pourquoi où quand cómo qué cuál quién dónde cuándo
	come cosa quale chi perché dove como qual quem onde hoe wat welke wie waarom waar πώς τι ποιος πού γιατί как что кто где почему когда`)

// auxiliaries begin a question if a pronoun follows.
var auxiliaries = setOf(`do does did can could would will should is are am was were have has had may might shall when dont doesnt didnt isnt arent wont cant couldnt wouldnt shouldnt`)

var pronouns = setOf(`i you he she it we they there this that my your his her our their`)

// wishing are words for what a user asks to be done.
var wishing = setOf(`prefer prefers preferred preference preferences like likes want wants wish wishes would asks requests`)

// finite are words that no request has.
var finite = setOf(`i im ive id we weve were he she they it its is are am was has have had`)

// alike are words that a fact may say one for the other.
var alike = map[string]string{}

func init() {
	for group := range strings.Lines(`like likes liked love loves loved enjoy enjoys prefer prefers preferred preference favourite favorite fond fan want wants wanted adore
live lives living moved relocated reside resides home based
work works working job employed employee
kid kids child children
mum mom mother
dad father
wife husband spouse partner
flat apartment
holiday vacation
film movie
car automobile
euro euros eur
dollar dollars usd
pound pounds gbp
percent per-cent pct
phone telephone mobile cellphone
tv television
born birthday birth birthdate
allergic allergy allergies
study studies student studying
buy bought purchase purchased
bike bicycle
doctor physician
lawyer attorney
big large
fast quick quickly
begin begins began start starts started
vegetarian vegetarians veggie
tea-drinker teadrinker
cannot cant`) {
		words := strings.Fields(group)
		for _, w := range words {
			alike[w] = "=" + words[0]
		}
	}
}

// glue are the words of a language that hold a sentence together. What they are is asked of the language that
// a text has most of.
var glue = map[string]map[string]bool{}

func init() {
	for language, words := range map[string]string{
		"en": `the a an i im my me is am are of and to in at on with for that have has it be we our you not do`,
		"de": `der die das den dem des ein eine einen einem einer eines ich bin mein meine meinen meiner mir mich wir unser unsere er sie es ihr ihre ihren sein seine hat habe haben ist sind war und in im am an auf mit von zu zum zur für dass heißt heiße heisst namens nutzer nutzerin benutzer benutzerin seit`,
		"fr": `le la les l un une des du de d je j mon ma mes me moi nous notre il elle on son sa ses a ai as est suis sont et en dans à au aux avec pour que qui s appelle appelé utilisateur utilisatrice c ce cette depuis`,
		"es": `el la los las lo un una unos unas del de yo mi mis me nosotros nuestra nuestro él ella su sus tiene tengo es soy está estoy son y e en a al con para que se llama llamo llamado usuario usuaria desde`,
		"it": `il lo la gli le i un uno una di del della dei io mio mia miei mie mi noi lui lei suo sua suoi ha ho è sono e in a al con per che si chiama chiamo utente l da`,
		"pt": `o a os as um uma de do da dos das eu meu minha meus minhas me nós ele ela seu sua tem tenho é sou está estou e em no na com para que se chama chamo usuário usuária utilizador utilizadora desde`,
		"nl": `de het een ik mijn mij me wij we ons onze hij zij ze zijn haar heeft heb hebben is ben en in op aan met voor van dat heet gebruiker gebruikster naar`,
		"sv": `jag min mitt mina mig vi vår han hon hans hennes har är och i på med för av att som heter en ett den det användaren brukeren`,
		"pl": `ja mój moja moje mnie my on ona jego jej ma mam jest jestem i w we na z ze do o że się nazywa użytkownik użytkowniczka`,
		"el": `ο η το οι τα του της των τον την τους ένα ένας μία μια εγώ μου με εμείς μας αυτός αυτή έχει έχω είναι είμαι και σε στο στη στην στον στις στα από για ότι που λένε λέγεται χρήστης χρήστρια χρήστη`,
		"ru": `я мой моя мои меня мне мы наш он она его её ее у есть и в во на с из для что зовут пользователь пользователя пользовательница это`,
	} {
		glue[language] = setOf(words)
	}
}

// glueOf returns the words that hold a text together: those of the language that it has most of, or of those that
// it has as many of. English goes first.
func glueOf(list []token) map[string]bool {
	counts, most := map[string]int{}, 0
	for language, words := range glue {
		for _, t := range list {
			if words[t.text] {
				counts[language]++
			}
		}
		most = max(most, counts[language])
	}
	if counts["en"] == most {
		return glue["en"]
	}
	all := map[string]bool{}
	for language, n := range counts {
		if n == most {
			maps.Copy(all, glue[language])
		}
	}
	return all
}

// people are how a fact in a script without spaces begins that is about its user.
var people = strings.NewReplacer("用户", " ", "用戶", " ", "使用者", " ", "ユーザーは", " ", "ユーザーの", " ", "ユーザー", " ", "사용자는", " ", "사용자의", " ", "사용자", " ")

// selves are the characters of such scripts that stand for the speaker or for somebody, and those that hold a
// sentence together.
var selves = setOf(`我 你 他 她 它 的 是 了 们 們 有 私 僕 俺 彼 は が を の に と で も だ で す 나 저 은 는 이 가 을 를`)

// termOf returns what a word is compared by, or nothing for one that says nothing.
func termOf(word string) string {
	if a, ok := alike[word]; ok {
		return a
	}
	if terms := rank.Terms(word); len(terms) > 0 {
		return terms[0]
	}
	return ""
}
