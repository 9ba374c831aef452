// The prelude runs once in each sandbox, before the script. It takes away what is not deterministic
// or cannot be interrupted, and gives the script Task, Workflow, wait_for_signal and console. Go
// reaches it through the functions that it returns; it reaches Go through host alone, and every value
// crosses as JSON text. The builtins are the names of the language that a script keeps.
(function (host, builtins) {
  "use strict";
  const global = globalThis;
  const { apply, ownKeys, defineProperty, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const { stringify, parse } = JSON;
  const isArray = Array.isArray;
  const P = Promise;
  const E = Error;
  const Buffer = ArrayBuffer;

  // --- What a script cannot have -------------------------------------------------------------

  const kept = new Set(builtins.split(" "));
  for (const name of ownKeys(global)) {
    if (!kept.has(name)) delete global[name];
  }

  // hide defines a property that a loop over the object does not see.
  function hide(object, name, value) {
    defineProperty(object, name, { value, writable: true, enumerable: false, configurable: true });
  }

  // replace puts a function in the place of a built-in one, under its name and length.
  function replace(object, name, make) {
    const old = getOwnPropertyDescriptor(object, name);
    if (old === undefined || typeof old.value !== "function") return;
    const made = make(old.value);
    defineProperty(made, "name", { value: old.value.name, configurable: true });
    defineProperty(made, "length", { value: old.value.length, configurable: true });
    defineProperty(object, name, { ...old, value: made });
  }

  // Code that is made of text at run time has no place in a checked source.
  const samples = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (const sample of samples) {
    defineProperty(getPrototypeOf(sample), "constructor", {
      value: function Function() {
        throw new TypeError("a script cannot make code of text");
      },
    });
  }
  defineProperty(Error, "prepareStackTrace", { value: undefined });

  // --- What cannot be interrupted -------------------------------------------------------------
  //
  // The engine looks at its time limit between instructions of the script. A built-in function that
  // goes through four billion holes of an array is one instruction. Each of them has a bound.

  const mostElements = 1 << 22;

  // count gives how many elements a built-in function goes through. The length must be a plain
  // number: a getter could say another one to the function.
  function count(list, name) {
    if (list === null || list === undefined || typeof list === "string") return 0;
    const length = getOwnPropertyDescriptor(Object(list), "length");
    if (length === undefined) {
      if (ArrayBuffer.isView(list) || !("length" in Object(list))) return 0;
      throw new TypeError(`${name} of an object whose length is not its own: use Array.from`);
    }
    if (!("value" in length)) {
      throw new TypeError(`${name} of an object whose length is a getter: use Array.from`);
    }
    if (typeof length.value === "object" || typeof length.value === "function") {
      throw new TypeError(`${name} of an object whose length is not a number`);
    }
    return length.value > 0 ? Number(length.value) : 0;
  }

  function bounded(n, name) {
    if (n > mostElements) {
      throw new RangeError(`${name} of ${n} elements: the limit is ${mostElements}`);
    }
  }

  const constant = new Set(["push", "pop", "at", "keys", "values", "entries", "constructor"]);
  for (const name of ownKeys(Array.prototype)) {
    if (constant.has(name) || typeof name === "symbol") continue;
    replace(Array.prototype, name, (native) => function (...args) {
      let n = count(this, name);
      if (name === "concat") {
        for (let i = 0; i < args.length; i++) if (isArray(args[i])) n += args[i].length;
      }
      bounded(n, name);
      return apply(native, this, args);
    });
  }
  replace(Array.prototype, "flat", () => function (depth = 1) {
    bounded(count(this, "flat"), "flat");
    const out = [];
    flatten(out, this, depth);
    return out;
  });
  function flatten(out, list, depth) {
    for (let i = 0; i < list.length; i++) {
      if (!(i in list)) continue;
      if (depth > 0 && isArray(list[i])) flatten(out, list[i], depth - 1);
      else out.push(list[i]);
    }
  }
  replace(Array, "from", (native) => function (items, ...rest) {
    if (items !== null && items !== undefined && items[Symbol.iterator] === undefined) {
      bounded(count(items, "Array.from"), "Array.from");
    }
    return apply(native, this, [items, ...rest]);
  });
  replace(String, "raw", (native) => function (strings, ...values) {
    bounded(count(Object(strings).raw, "String.raw"), "String.raw");
    return apply(native, this, [strings, ...values]);
  });

  const mostComparisons = 1 << 28;
  for (const name of ["indexOf", "lastIndexOf", "includes", "split", "replace", "replaceAll"]) {
    replace(String.prototype, name, (native) => function (pattern, ...rest) {
      if (typeof pattern === "string" && pattern.length > 16) {
        const text = String(this);
        if (text.length * pattern.length > mostComparisons) {
          throw new RangeError(
            `${name} of ${pattern.length} characters in ${text.length}: the text is too long`);
        }
      }
      return apply(native, this, [pattern, ...rest]);
    });
  }
  const marks = /\p{M}{512}/u;
  const test = RegExp.prototype.test;
  replace(String.prototype, "normalize", (native) => function (...form) {
    const text = String(this);
    if (text.length > 1000 && apply(test, marks, [text])) {
      throw new RangeError("normalize of more than 512 combining marks in a row");
    }
    return apply(native, text, form);
  });
  const mostDigits = 100000;
  for (const name of ["toString", "toLocaleString"]) {
    replace(BigInt.prototype, name, (native) => function (...radix) {
      if (this > bigLimit || this < -bigLimit) {
        throw new RangeError(`a BigInt of more than ${mostDigits} digits has no text`);
      }
      return apply(native, this, radix);
    });
  }
  const bigLimit = 1n << 332193n; // it has mostDigits digits
  // A replacer is code of the sandbox, so that a value of many parts can be interrupted.
  replace(JSON, "stringify", (native) => function (value, replacer, space) {
    return native(value, replacer ?? ((key, part) => part), space);
  });
  const toText = JSON.stringify;

  // --- What differs from one execution to the next --------------------------------------------

  const ask = (op, argument) => {
    const answer = host(op, argument === undefined ? "null" : stringify(argument) ?? "null");
    return answer === "" ? undefined : parse(answer);
  };
  const now = () => ask("now");

  hide(Math, "random", () => ask("random"));

  const NativeDate = Date;
  const zoned = /(?:Z|GMT|UTC|UT|[+-]\d\d:?\d\d)\s*(?:\(.*\))?\s*$/i;
  const isoTime = /^[+-]?\d{4,6}-\d\d(?:-\d\d)?T[\d:.]+$/;
  const isoDate = /^[+-]?\d{4,6}(?:-\d\d(?:-\d\d)?)?$/;
  // read understands a text without a zone as UTC, wherever the process runs.
  function read(text) {
    text = String(text).trim();
    if (isoDate.test(text) || zoned.test(text)) return NativeDate.parse(text);
    return NativeDate.parse(text + (isoTime.test(text) ? "Z" : " UTC"));
  }
  function RunDate(...parts) {
    if (new.target === undefined) return new RunDate().toString();
    let time;
    if (parts.length === 0) time = now();
    else if (parts.length > 1) time = NativeDate.UTC(...parts);
    else if (parts[0] instanceof NativeDate) time = parts[0].getTime();
    else {
      const value = typeof parts[0] === "object" && parts[0] !== null
        ? parts[0][Symbol.toPrimitive]?.("default") ?? parts[0].valueOf()
        : parts[0];
      time = typeof value === "string" ? read(value) : Number(value);
    }
    return Reflect.construct(NativeDate, [time], new.target);
  }
  defineProperty(RunDate, "name", { value: "Date", configurable: true });
  defineProperty(RunDate, "length", { value: 7, configurable: true });
  hide(RunDate, "now", () => now());
  hide(RunDate, "parse", (text) => read(text));
  hide(RunDate, "UTC", NativeDate.UTC);
  const dates = NativeDate.prototype;
  RunDate.prototype = dates;
  hide(dates, "constructor", RunDate);
  hide(global, "Date", RunDate);
  for (const name of ownKeys(dates)) {
    if (typeof name !== "string") continue;
    const utc = /^(get|set)(?!UTC|Time)(\w+)$/.exec(name);
    if (utc !== null && typeof dates[utc[1] + "UTC" + utc[2]] === "function") {
      hide(dates, name, dates[utc[1] + "UTC" + utc[2]]);
    }
  }
  hide(dates, "getYear", function getYear() { return this.getUTCFullYear() - 1900; });
  delete dates.setYear;
  hide(dates, "getTimezoneOffset", function getTimezoneOffset() { return 0; });
  const weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const two = (n) => String(n).padStart(2, "0");
  const dateText = (d) => isNaN(d.getTime()) ? "Invalid Date" :
    `${weekdays[d.getUTCDay()]} ${months[d.getUTCMonth()]} ${two(d.getUTCDate())} ${String(d.getUTCFullYear()).padStart(4, "0")}`;
  const timeText = (d) => isNaN(d.getTime()) ? "Invalid Date" :
    `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} GMT+0000 (UTC)`;
  hide(dates, "toDateString", function toDateString() { return dateText(this); });
  hide(dates, "toTimeString", function toTimeString() { return timeText(this); });
  hide(dates, "toString", function toString() {
    return isNaN(this.getTime()) ? "Invalid Date" : dateText(this) + " " + timeText(this);
  });
  for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]) {
    hide(dates, name, { [name]() {
      if (isNaN(this.getTime())) return "Invalid Date";
      const text = this.toISOString();
      return name === "toLocaleString" ? text : name === "toLocaleDateString" ? text.slice(0, -14) : text.slice(-13);
    } }[name]);
  }

  // --- Errors ----------------------------------------------------------------------------------

  // RunError is the failure of something that the engine did for the script.
  class RunError extends Error {
    constructor(failure, stack) {
      super(failure.message);
      hide(this, "stack", stack); // of the call
      hide(this, "name", failure.name);
      if (failure.type) this.type = failure.type;
      if (failure.task) this.task = failure.task;
      if (failure.details !== undefined) this.details = failure.details;
      hide(this, "failure", failure.failure);
    }
    toJSON() {
      return { name: this.name, message: this.message, type: this.type, details: this.details };
    }
  }
  hide(Error.prototype, "toJSON", function toJSON() {
    return { name: String(this.name), message: String(this.message) };
  });

  // described is what Go needs to know of a thrown value.
  function described(thrown) {
    if (!(thrown instanceof Error)) {
      // The engine throws null where it has no memory for an error.
      if (thrown === null) return { name: "InternalError", message: "out of memory" };
      if (typeof thrown !== "object") return { name: "Error", message: String(thrown) };
      return { name: "Error", message: typeof thrown === "string" ? thrown : toText(thrown) ?? String(thrown), details: thrown };
    }
    const failures = thrown instanceof AggregateError ? thrown.errors.map((e) => String(e?.message ?? e)) : [];
    const message = [String(thrown.message), ...failures].filter((text) => text !== "").join("; ");
    return {
      name: String(thrown.type ?? thrown.name), message, details: thrown.details,
      stack: String(thrown.stack ?? ""), failure: thrown.failure,
    };
  }
  const told = (thrown) => {
    try {
      return toText(described(thrown));
    } catch {
      return '{"name":"Error","message":"the thrown value cannot be described"}';
    }
  };

  // --- Handles ---------------------------------------------------------------------------------

  const waiting = new Map(); // number of a call to its resolve and reject
  let calls = 0;

  // Handle is the promise of a call. It compares equal to its item_id.
  class Handle extends P {
    static get [Symbol.species]() { return P; }
    toString() { return this.item_id; }
    toJSON() { return this.item_id; }
    cancel() { if (this.call !== undefined) ask("cancel", { call: this.call }); }
    [Symbol.toPrimitive]() { return this.item_id; }
  }
  hide(Handle.prototype, "constructor", P); // await then takes it as it is
  const ignore = () => {};

  function handle(executor, id, call) {
    const made = new Handle(executor);
    hide(made, "item_id", id);
    if (call !== undefined) hide(made, "call", call);
    made.then(undefined, ignore); // one that no code awaits may fail
    return made;
  }

  // begin asks Go for something that ends later.
  function begin(op, argument) {
    argument.call = ++calls;
    argument.stack = new E().stack.slice(0, 500);
    const id = ask(op, argument);
    return handle((resolve, reject) => waiting.set(argument.call, { resolve, reject, stack: argument.stack }), id, argument.call);
  }

  function items(list, name) {
    if (list === null || typeof list !== "object" || typeof list[Symbol.iterator] !== "function") {
      throw new TypeError(`${name} takes an array of tasks`);
    }
    return [...list];
  }

  let groups = 0;
  const group = (name, promise) =>
    handle((resolve, reject) => { promise.then(resolve, reject); }, `${name}-${++groups}`);
  const idOf = (item, index) =>
    item !== null && typeof item === "object" && item.item_id !== undefined ? item.item_id : index;

  // api makes what a script calls. Its calls belong to one scope: 0 is the run's, others are shielded.
  function api(scope) {
    const Task = {
      run: (name, input, options) => begin("run", { scope, name, input, options }),
      delay: (seconds) => begin("delay", { scope, seconds }),
      all: (list) => group("all", P.all(items(list, "Task.all"))),
      any(list) {
        const tasks = items(list, "Task.any");
        return group("any", P.any(tasks.map((task, index) =>
          P.resolve(task).then((result) => ({ item_id: idOf(task, index), index, result: result ?? null })))));
      },
      race(list) {
        const tasks = items(list, "Task.race");
        if (tasks.length === 0) throw new TypeError("Task.race of no tasks: none can end");
        return group("race", P.race(tasks.map((task, index) => P.resolve(task).then(
          (result) => ({ item_id: idOf(task, index), index, status: "completed", result: result ?? null }),
          (error) => ({ item_id: idOf(task, index), index, status: "failed", error })))));
      },
      allSettled: (list) => group("allSettled", P.allSettled(items(list, "Task.allSettled"))),
    };
    const Workflow = {
      run: (name, input, options) => begin("child", { scope, name, input, options }),
      signal: (name) => begin("signal", { scope, name }),
      condition(holds, seconds) {
        if (typeof holds !== "function") throw new TypeError("Workflow.condition takes a function");
        const made = new P((resolve, reject) => conditions.add({ holds, resolve, reject }));
        return seconds === undefined ? made : P.race([made.then(() => true), Task.delay(seconds).then(() => false)]);
      },
      now: () => new RunDate(),
      random: () => ask("random"),
      uuid: () => ask("uuid"),
      info: () => ask("info"),
      publish: (state) => ask("publish", state ?? null),
      attributes: (values) => ask("attributes", values),
      patched: (id) => ask("patched", id),
      deprecatePatch: (id) => ask("deprecatePatch", id),
      continueAsNew: (input) => { ask("continueAsNew"); return { [continues]: true, input }; },
      onSignal: (name, handler) => listen("signal", name, handler),
      onUpdate: (name, handler, options) => listen("update", name, handler, options?.validate),
      onQuery: (name, handler) => listen("query", name, handler),
    };
    if (scope === 0) {
      let scopes = 0;
      Workflow.shield = (work) => {
        if (typeof work !== "function") throw new TypeError("Workflow.shield takes a function");
        const inner = api(++scopes);
        return P.resolve(work({ ...inner, wait_for_signal: inner.Workflow.signal }));
      };
    }
    return { Task, Workflow };
  }

  const continues = Symbol("continue as new");

  // --- Messages and conditions -----------------------------------------------------------------

  const handlers = { signal: new Map(), update: new Map(), query: new Map() };
  function listen(kind, name, handle, validate) {
    if (typeof handle !== "function") throw new TypeError(`the handler of ${kind} ${name} is not a function`);
    if (validate !== undefined && typeof validate !== "function") {
      throw new TypeError(`the validator of update ${name} is not a function`);
    }
    const known = handlers[kind].has(name);
    handlers[kind].set(name, { handle, validate });
    if (!known) ask("listen", { kind, name });
  }

  const conditions = new Set();
  let settled = false; // by the last look

  // look settles the conditions that hold now, and says whether there was one.
  function look() {
    let any = false;
    for (const condition of conditions) {
      try {
        if (!condition.holds()) continue;
        condition.resolve();
      } catch (error) {
        condition.reject(error);
      }
      conditions.delete(condition);
      any = true;
    }
    return any;
  }

  // --- Console ---------------------------------------------------------------------------------

  const shown = (value) => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return String(value.stack ? `${value.name}: ${value.message}` : value);
    try {
      return toText(value) ?? String(value);
    } catch {
      return String(value);
    }
  };
  const line = (level) => (...values) => ask("log", { level, text: values.map(shown).join(" ") });
  const console = { log: line("info"), info: line("info"), warn: line("warn"), error: line("error"), debug: line("debug") };

  // --- What Go calls ---------------------------------------------------------------------------

  const outer = api(0);
  hide(global, "Task", outer.Task);
  hide(global, "Workflow", outer.Workflow);
  hide(global, "wait_for_signal", outer.Workflow.signal);
  hide(global, "console", console);

  // later has code of the script run as a job, where its time is limited.
  const later = (work) => { P.resolve().then(work); };

  return {
    start(name, input) {
      later(async () => {
        let op = "done", value;
        try {
          value = await global[name](parse(input));
          if (value?.[continues] === true) {
            op = "continued";
            value = value.input;
          }
          value = toText(value ?? null) ?? "null";
        } catch (error) {
          op = "failed";
          value = told(error);
        }
        host(op, value);
      });
    },
    settle(call, ok, text) {
      const { resolve, reject, stack } = waiting.get(call);
      waiting.delete(call);
      later(() => ok ? resolve(parse(text)) : reject(new RunError(parse(text), stack)));
    },
    handle(call, kind, name, input) {
      const { handle } = handlers[kind].get(name);
      later(async () => {
        let answer;
        try {
          const result = await handle(parse(input));
          answer = toText({ call, result: result ?? null });
        } catch (error) {
          host("refused", toText({ call, failure: told(error) }));
          return;
        }
        host("answered", answer);
      });
    },
    validate(name, input) {
      const { validate } = handlers.update.get(name);
      if (validate !== undefined) validate(parse(input));
    },
    query: (name, input) => toText(handlers.query.get(name).handle(parse(input)) ?? null) ?? "null",
    conditions: () => conditions.size,
    look: () => { later(() => { settled = look(); }); },
    settled: () => settled,
    // A buffer of this length has memory of its own.
    probe: () => { new Buffer(10_000); },
  };
})
