package jsonedit_test

import (
	"fmt"

	"mend/internal/jsonedit"
)

func Example() {
	text := []byte(`{ "cost":1.50, "state": {"status" : "running"} }`)
	if status, ok := jsonedit.Get(text, "state", "status"); ok {
		fmt.Println(jsonedit.Unquote(status))
	}
	text, err := jsonedit.Set(text, jsonedit.Quote("error"), "state", "status")
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%s\n", text)
	// Output:
	// running
	// { "cost":1.50, "state": {"status" : "error"} }
}

func ExampleParse() {
	list := jsonedit.Parse([]byte(`[{"name": "a", "size": 1}, {"name": "b"}]`))
	for _, item := range list.Children() {
		name, _ := item.Get("name").Text()
		size, ok := item.Get("size").Int()
		fmt.Println(name, size, ok)
	}
	// Output:
	// a 1 true
	// b 0 false
}

func ExampleParsePartial() {
	p := jsonedit.ParsePartial([]byte(`{"role": "assistant", "path": {"cwd": "/home`))
	fmt.Printf("%s\n%q\n%v %v\n", p.Data, p.Cut, p.Intact("role"), p.Intact("path", "cwd"))
	// Output:
	// {"role": "assistant", "path": {"cwd": "/home"}}
	// ["path" "cwd"]
	// true false
}
