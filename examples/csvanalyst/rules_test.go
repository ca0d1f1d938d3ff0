package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-go/weft/examples/csvanalyst/internal/offline"
)

const staff = `Employee ID,Name,Department,Office,Salary (USD),Start Date,Remote,Rating
1,Ann Lee,Sales,Athens,"52,000",2019-03-04,yes,4
2,Bob Ray,Sales,Bern,"48,500.50",2021-07-15,no,3
3,Carla Diaz,Engineering,Athens,"91,000",2018-01-20,TRUE,5
4,Dan Okoro,Engineering,New York,"103,250",2022-11-01,Yes,
5,Eve [x](http://evil.example),Marketing,Bern,,2023-05-30,No,4
6,Fay Moss,,New York,"61,000",2020-02-29,no,n/a
`

// refusal matches the beginning of an answer that refuses a question.
const refusal = `^(I (did not understand|understood the words, but not|do not know|cannot|can only|group|read) |By which |Which figure |What shall |Ask the whole |\S+ is an amount in another )`

// The name of the file is a word for its rows, and a year has no separators.
func TestNamesOfRowsAndYears(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("movies.csv", "Title,Year,Votes\nAlien,1979,900000\nUp,2009,1100000\nIt,2017,600000\n")
	for _, tt := range []struct{ question, want string }{
		{"total votes", "The total Votes is 2,600,000, in movies.csv."},
		{"the highest votes", "The highest Votes is 1,100,000, in movies.csv:\n- Up, 2009, 1,100,000"},
		{"how many movies have over 700,000 votes", "There are 2 rows in movies.csv where Votes is above 700,000."},
		{"how many movies per year", "The number of rows by Year, in movies.csv:\n- 1979: 1"},
		{"total votes of It", "The total Votes is 600,000, in movies.csv where Title is It."},
	} {
		got := a.ask(id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
}

// If the cells of a column have two decimals, an answer writes 2485.4 as 2,485.40, and 980 without decimals. A column
// with the name of the file is a quantity if its numbers have decimals.
func TestMoneyHasTwoDecimals(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("rents.csv", "day,tenant,rent,weight\n2025-01-03,Abel,1234.50,1.5\n2025-02-05,Bora,980.00,2.5\n2025-03-09,Abel,1250.90,3.5\n")
	for question, want := range map[string]string{
		"total rent by tenant": "The total rent by tenant, in rents.csv:\n- Abel: 2,485.40\n- Bora: 980",
		"total rent":           "The total rent is 3,465.40, in rents.csv.",
		"median rent":          "The median rent is 1,234.50, in rents.csv.",
		"highest rent":         "The highest rent is 1,250.90, in rents.csv:\n- 2025-03-09, Abel, 1,250.90, 3.5",
		"total weight":         "The total weight is 7.5, in rents.csv.",
	} {
		assert.Equal(t, want, a.ask(id, question), question)
	}
}

// A value that the prompt does not list needs quotation marks and the name of its column, also after "not".
func TestValueThatIsNotListed(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	text := "maker,price\n"
	for i := range 60 {
		text += fmt.Sprintf("Maker%d,1\n", i)
	}
	id := a.withFile("chairs.csv", text+"Vitra,2\nVitra,3\n")
	assert.Equal(t, "The total price is 5, in chairs.csv where maker is Vitra.", a.ask(id, `total price where the maker is "Vitra"`))
	assert.Equal(t, "There are 60 rows in chairs.csv where maker is not Vitra.", a.ask(id, `how many chairs where the maker is not “Vitra”?`))
	for question, word := range map[string]string{
		"total price of Vitra": "Vitra", "total price where maker is Vitra": "Vitra", "how many chairs are not from Mars?": "Mars",
	} {
		want := `I did not understand "` + word + `". A value that I do not know needs its column and quotation marks, such as: name is "Ann".`
		assert.Contains(t, a.ask(id, question), want, question)
	}
	assert.Regexp(t, refusal, a.ask(id, `total price of "Vitra"`))
}

// A year in the name of the file is no word for its rows: it stays a condition.
func TestYearInTheNameOfAFile(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("sales_2024.csv", sales+"6,Bern,cup,1,2025-01-01\n")
	assert.Equal(t, "The total amount is 78.5, in sales_2024.csv where day is in 2024.", a.ask(id, "total amount in 2024"))
	assert.Equal(t, "There are 6 rows in sales_2024.csv.", a.ask(id, "how many sales?"))
}

// The rules answer every question that the page and the README suggest.
func TestOfferedQuestions(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	orders := a.withFileOf(questions + "csv/orders.csv")
	products := a.withFileOf("../designer/internal/catalogue/products.csv")
	for _, tt := range []struct{ id, question, want string }{
		{orders, "What columns are there?", "orders.csv has 200 rows and 9 columns:\n- Order ID: text\n- Order Date: date, from 2025-01-02 to 2025-12-30, 8 empty\n- Customer: text: Alder Ltd, "},
		{orders, "How many rows are there?", "There are 200 rows in orders.csv."},
		{orders, "Show the first 10 rows", "orders.csv has 200 rows; here are 10:\n- A1001, 2025-08-20\n"},
		{orders, "Orders over $4,000 in March 2025", "orders.csv has 3 rows where Amount is above $4,000 and Order Date is in March 2025:\n"},
		{orders, "Total amount by month", "The total Amount by Order Date (month), in orders.csv:\n- January 2025: $44,255.46\n"},
		{orders, "Top 3 orders", "orders.csv has 200 rows; here are 3 with the highest Amount:\n- A1183, "},
		{orders, "Compare the total amount of North and South. And how many of them are paid?", "The total Amount by Region, in orders.csv where Region is North or South:\n- North: $191,841.48\n- South: $83,844.54\n\nThere are 60 rows in orders.csv where Region is North or South and Status is paid."},
		{products, "The average price by category", "The average price_eur by category, rounded, in products.csv:\n- daybed: €10,400"},
		{products, "The cheapest product", "The lowest price_eur is €38, in products.csv:\n- P137, Metro Tile, €38"},
	} {
		got := a.ask(tt.id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, list, _ := strings.Cut(string(readme), "These questions work")
	list, _, _ = strings.Cut(list, "\n\nWith ")
	offered := regexp.MustCompile(`(?m)^- (.*)$`).FindAllStringSubmatch(list, -1)
	require.Len(t, offered, 4)
	for _, m := range offered {
		for answer := range strings.SplitSeq(a.ask(orders, m[1]), "\n\n") {
			assert.Regexp(t, `^(There (is|are) \d|orders\.csv has |The |Alder Ltd has the highest )`, answer, m[1])
		}
	}
}

// The rules drop no condition: each word except fillers (lexicon.go) is in the answer, or the rules refuse the
// question.
func TestRulesDropNothing(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	id := a.withFile("employees.csv", staff)
	for _, tt := range []struct{ question, want string }{
		{"how many employees are in Athens?", "There are 2 rows in employees.csv where Office is Athens."},
		{"how many remote employees have a salary over 60,000", "There are 2 rows in employees.csv where Remote is yes and Salary (USD) is above $60,000."},
		{"how many are not remote?", "There are 3 rows in employees.csv where Remote is no."},
		{"how many employees are not in Athens", "There are 4 rows in employees.csv where Office is not Athens."},
		{"how many employees have no rating", "There are 2 rows in employees.csv where Rating is empty."},
		{"average rating", "The average Rating is 4, in employees.csv."},
		{"rating over 2 and rating under 5, how many", "There are 3 rows in employees.csv where Rating is above 2 and Rating is below 5."},
		{"how many with a rating of at least 4", "There are 3 rows in employees.csv where Rating is at least 4."},
		{"how many employees with a rating of 4", "There are 2 rows in employees.csv where Rating is 4."},
		{"how many where start date is in 2021", "There is 1 row in employees.csv where Start Date is in 2021."},
		{"how many employees before 1 March 2020", "There are 3 rows in employees.csv where Start Date is before 2020-03-01."},
		{"average salary of Sales and Engineering", "The average Salary (USD) is about $73,687.62, in employees.csv where Department is Sales or Engineering."},
		{"average salary not in Engineering", "The average Salary (USD) is $53,833.50, in employees.csv where Department is not Engineering."},
		{"average salary where office is not Bern", "The average Salary (USD) is $76,812.50, in employees.csv where Office is not Bern."},
		{"how many employees are not from office New York", "There are 4 rows in employees.csv where Office is not New York."},
		{"how many employees are not in Bern or Athens", "There are 2 rows in employees.csv where Office is not Bern and Office is not Athens."},
		{"how many employees in office Bern or Athens", "There are 4 rows in employees.csv where Office is Bern or Athens."},
		{"how many employees not of department Sales in Bern", "There is 1 row in employees.csv where Department is not Sales and Office is Bern."},
		{"how many employees have no department in Bern", "There are 0 rows in employees.csv where Department is empty and Office is Bern."},
		{"which department has the highest number of employees?", "Engineering, Sales have the highest number of rows: 2 each."},
		{"which department has the lowest number of employees in Bern?", "Marketing, Sales have the lowest number of rows: 1 each."},
		{"how many employees per year", "The number of rows by Start Date (year), in employees.csv:\n- 2018: 1\n- 2019: 1"},
		{"average salary in Athens", "The average Salary (USD) is $71,500, in employees.csv where Office is Athens."},
		{"how many employees are in Bern?", "There are 2 rows in employees.csv where Office is Bern."},
		{"how many of them are remote?", "There are 0 rows in employees.csv where Office is Bern and Remote is yes."},
		{"top 2 salary", "employees.csv has 6 rows; here are 2 with the highest Salary (USD):\n- 4, Dan Okoro, $103,250\n- 3,"},
		{"top 2 employees by rating", "employees.csv has 6 rows; here are 2 with the highest Rating:\n- 3, Carla Diaz, 5\n- "},
		{"average salary by department and office", "The average Salary (USD) by Department and Office, in employees.csv:\n- Engineering, New York: $103,250\n"},
		{"employees from Athens", "employees.csv has 2 rows where Office is Athens:\n"},
		{"employees in february", "employees.csv has 1 row where Start Date is in February (of any year):\n"},
		{"employees on 4 March 2019", "employees.csv has 1 row where Start Date is 2019-03-04:\n"},
		{"average salary in Athens in 1999", "There is no average Salary (USD), because no row has a value, in employees.csv where Office is Athens and Start Date is in 1999."},
		{`how many where name is "Eve"`, "There are 0 rows in employees.csv where Name is Eve."},
	} {
		got := a.ask(id, tt.question)
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	assert.Contains(t, a.ask(id, "which department has the lowest number of employees in Bern?"), "Groups without such a row are left out.")
}

const bookings = `date,room,organiser,department,people,hours,cost,catering
2025-01-07,Blue Room,Anna Weber,Sales,6,2,80.00,no
2025-01-09,Garden Hall,Tom Reed,Marketing,40,5,450.00,yes
2025-02-03,Garden Hall,Priya Nair,HR,55,8,720.00,yes
`

// halves are questions of which the rules would understand only a part.
var halves = map[string]string{
	"employees.csv": `
		highest and lowest rating
		the highest rating and the lowest salary
		total salary by office highest rating
		total salary by office and average rating by department
		how many are remote and how many are not remote
		how many are remote in Athens and how many in Bern
		number of employees and average salary in Athens
		total and average salary
		total salary and employees in Athens
		total salary and which office has the highest number of employees
		which office has the highest average salary and which has the lowest
		which office has the highest average salary, and how many employees does it have?
		which office has the highest average salary? How many of them are remote?
		and in 2019?
		how many where remote is no
		how many where remote is false
		over 2 and under 5 rating
		rating over 2 and under 5, how many
		how many with a rating of 4 or more
		employees in Athens or Sales
		employees in Athens, Bern in Athens
		employees with a rating
		employees with no office Bern
		employees with no rating over 3
		employees with a salary of €52,000
		how many started in January or March
		employees before february
		employees before 2020
		employees over 50
		departments with more than 2 employees
		how many employees per row
		average number of employees per office
		how many have a salary above the average?
		total sales
		the highest total salary
		which office has the highest salary
		top 2 departments by total salary
		top 2 employees by department
		highest salary per department
		employees per year
		the highest 2021 salary
		first in 2021
		top 200 employees by rating
		compare the salaries
		compare the total salary of Athens
		describe the salary in Athens
		what departments are there
		who earns the most?
		how many rows have no revenue?
		how many employees are not in Athens last year
		average salary of happy employees
		oldest employee
		delete all rows`,
	"bookings.csv": `
		Which room was booked most often?
		Which room was cancelled most often?
		How much did Sales spend in total?
		What about HR?
		How much cost on catering?
		How much did the Studio earn?
		Which department spent the most?`,
}

// The rules refuse a question that they do not understand as a whole.
func TestRulesRefuseHalves(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	for file, text := range map[string]string{"employees.csv": staff, "bookings.csv": bookings} {
		id := a.withFile(file, text)
		for question := range strings.SplitSeq(strings.TrimSpace(halves[file]), "\n") {
			said := strings.Split(a.ask(id, strings.TrimSpace(question)), "\n\n")
			assert.Regexp(t, refusal, said[len(said)-1], question)
		}
	}
}

// Some words of these files also have another meaning for the rules.
const (
	teamsFile   = "team,score,wins,league,status,plan,active,joined,amount\nReds,10,4,A,missing,daily,yes,2024-05-01,$1500\nBlues,30,6,B,open,table,no,2025-01-15,$1800\nGreens,25,5,A,open,daily,yes,2024-02-01,$90\n"
	storesFile  = "store,total_sales,opened\n1,100,2024-01-05\n2,150,2024-02-10\n3,150,2025-02-11\n"
	marketsFile = "city,day1,sold_on\nBern,2024-01-01,2024-02-01\nKyiv,2024-01-02,2024-02-02\n"
)

// makers returns a file with more names than the prompt lists.
func makers() string {
	text := "name,salary,city,paid\nJan Olsen,1000,Bern,2024-01-05\n"
	for i := range 60 {
		text += fmt.Sprintf("Maker%d,10,%s,2024-0%d-01\n", i, []string{"Bern", "Athens"}[i%2], i%3+1)
	}
	return text
}

// The rules refuse a question that may mean two things, or in which they would ignore a word. In the table, an empty want
// stands for a refusal.
func TestRulesRefuseRatherThanGuess(t *testing.T) {
	t.Parallel()
	a := start(t, t.TempDir(), offline.Model{})
	files := map[string]string{
		"teams": a.withFile("teams.csv", teamsFile), "stores": a.withFile("stores.csv", storesFile),
		"markets": a.withFile("markets.csv", marketsFile), "makers": a.withFile("people.csv", makers()),
		"cities": a.withFile("cities.csv", "cities,region,twin\nBern,North,Bern\nBern,South,Kyiv\nKyiv,North,Bern\n"),
	}
	for _, tt := range []struct{ file, question, want string }{
		{"teams", "how many teams have no score", "There are 0 rows in teams.csv where score is empty."},
		{"teams", "how many teams don't have a score over 20", ""},
		{"teams", "how many teams have no score over 20", ""},
		{"teams", "how many teams have no amount of over $20", ""},
		{"teams", "missing score over 20", ""},
		{"teams", "total wins by team", ""},
		{"teams", "which team has the highest score", ""},
		{"teams", "total teams", ""},
		{"teams", "total wins and teams", ""},
		{"stores", "total sales by store", ""},
		{"stores", "total total_sales for each store", ""},
		{"stores", "how many sales", ""},
		{"cities", "how many cities", ""},
		{"cities", "how many rows in Bern", ""},
		{"cities", `how many rows where twin is "Bern"`, "There are 2 rows in cities.csv where twin is Bern."},
		{"cities", "how many rows by cities", "The number of rows by cities, in cities.csv:\n- Bern: 2"},

		{"teams", "how many teams have an amount of 1500", "There is 1 row in teams.csv where amount is $1,500."},
		{"teams", "how many teams over $1,500", "There is 1 row in teams.csv where amount is above $1,500."},
		{"teams", "teams with an amount between $1,500 and $2,000", ""},
		{"teams", "total amount over $1,500", ""},
		{"teams", "total amount in 2024", "The total amount is $1,590, in teams.csv where joined is in 2024."},
		{"teams", "total amount since 2025", ""},
		{"teams", "amount before 2025", ""},
		{"markets", "how many rows before 1 January 2025", ""},
		{"markets", "how many rows by month", ""},
		{"teams", "highest score and wins", ""},
		{"teams", "top 2 teams by wins", "teams.csv has 3 rows; here are 2 with the highest wins:\n- Blues, 30, 6\n- Greens, 25, 5"},
		{"stores", "top 1 row by total_sales", "The highest total_sales is 150, in stores.csv:\n- 2, 150, 2024-02-10\n- 3, 150"},
		{"teams", "which league has the highest number of teams", "A has the highest number of rows: 2."},
		{"teams", "how many active teams", "There are 2 rows in teams.csv where active is yes."},

		{"teams", "which teams have an average score over 20", ""},
		{"teams", "leagues with a total of over 20 wins", ""},
		{"teams", "number of teams by league over 1", ""},
		{"teams", "teams that were not sold in A", ""},
		{"makers", "names that were not sold in Bern", ""},
		{"makers", "salary of Jan", ""},
		{"teams", "how many teams where league is C", ""},
		{"teams", `how many teams where league is "C"`, "There are 0 rows in teams.csv where league is C."},
		{"teams", "how many teams are in league A", ""},
		{"teams", `how many teams are in league "A"`, "There are 2 rows in teams.csv where league is A."},
		{"teams", "A total of the wins", ""},
		{"teams", "how many teams in league B or not open", ""},

		{"teams", "May I see the total amount?", ""},
		{"teams", "teams in May 2024", "teams.csv has 1 row where joined is in May 2024:\n"},
		{"teams", "Yes, how many teams?", ""},
		{"teams", "how many teams with active true", ""},
		{"teams", "how many teams are not only in league B", ""},
		{"teams", "how many teams are not just open", ""},
		{"teams", "how many teams by 2024", ""},
		{"teams", "how many teams by March 2024", ""},
		{"teams", "how many teams as of 2024", ""},
		{"teams", "how many teams have a score about 10", ""},
		{"teams", "how many teams from May 2024 on", ""},
		{"teams", "how many teams from May 2024 to January 2025", ""},
		{"teams", "how many teams have the status missing", "There is 1 row in teams.csv where status is missing."},
		{"teams", "how many wins in league B", ""},
		{"teams", "how many amounts", ""},
		{"teams", "how many scores are there", ""},
		{"teams", "show 1 total wins by league", ""},
		{"teams", "top 1 league by number of teams", ""},
	} {
		got := a.ask(files[tt.file], tt.question)
		if tt.want == "" {
			assert.Regexp(t, refusal, got, tt.question)
			continue
		}
		assert.True(t, strings.HasPrefix(got, tt.want), "%s\ngot  %s\nwant %s", tt.question, got, tt.want)
	}
	assert.Contains(t, a.ask(files["teams"], "how many teams in league B?"), "There is 1 row")
	assert.Regexp(t, refusal, a.ask(files["teams"], `how many of them are in league "A"?`))
}
