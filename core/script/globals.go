package script

import "slices"

// globals are the names that a script has without declaring them.
var globals = slices.Concat(builtins, []string{"Task", "Workflow", "wait_for_signal", "console"})

// builtins are the names of the language that the prelude keeps.
var builtins = []string{
	"Object", "Array", "String", "Number", "Boolean", "Symbol", "BigInt", "Math", "JSON",
	"Reflect", "Map", "Set", "WeakMap", "WeakSet", "Date", "RegExp", "Promise", "Iterator",
	"Error", "AggregateError", "EvalError", "RangeError", "ReferenceError", "SyntaxError",
	"TypeError", "URIError", "InternalError", "SuppressedError", "ArrayBuffer", "DataView",
	"Int8Array", "Uint8Array", "Uint8ClampedArray", "Int16Array", "Uint16Array", "Int32Array",
	"Uint32Array", "BigInt64Array", "BigUint64Array", "Float16Array", "Float32Array",
	"Float64Array", "parseInt", "parseFloat", "isNaN", "isFinite", "decodeURI",
	"decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "unescape",
	"queueMicrotask", "globalThis", "undefined", "NaN", "Infinity",
}
