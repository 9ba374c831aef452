// Package expr is the language of the conditions and references in flows.
//
// An expression is a JSON object with one operator:
//
//	{"and": [{"eq": ["$params.kind", "invoice"]}, {"gt": ["$shared.order.total", 100]}]}
//
//	and, or        an array of expressions
//	not            one expression
//	eq ne          two operands that are equal, or not
//	gt ge lt le    two operands in order
//	exists         one operand that is not null
//	in             [value, collection]: an element of an array, or a part of a string
//	contains       [collection, value]
//
// In the place of an expression, and, or and not take any other value x. It holds if x equals true.
//
// An operand is a JSON value. A string that begins with $params, $shared or $input is a reference:
// a path such as $shared.order.lines[0].price. Whatever is missing on the path is null. Any other
// string stands for itself. Two numbers, or strings that hold numbers, compare as numbers. All else
// compares as strings, and values that are not strings by their JSON form.
//
// [Parse] finds all mistakes of an expression. [Expr.Eval] is total: it ends for every expression
// and every value, its depth is bounded, and so is the number of bytes that it reads.
package expr
