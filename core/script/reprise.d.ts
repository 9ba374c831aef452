// What scripts of Reprise can call, for editors. Put this file beside your scripts, and begin a script
// with /// <reference path="reprise.d.ts" />

/** JSON is what crosses the border of a run. */
type JSONValue = null | boolean | number | string | JSONValue[] | { [name: string]: JSONValue | undefined };

/** A call under way: await it, or pass it to Task.all, Task.any or Task.race. */
interface Handle<T> extends Promise<T> {
  /** The call's id. The handle compares equal to it with ==. */
  readonly item_id: string;
  /** Asks the call to stop. It then fails with a CancelledError. */
  cancel(): void;
}

/** When a failed attempt is followed by another one. Times are in seconds. */
interface RetryOptions {
  /** Attempts in all. Default: 3. 0: no limit. */
  maxAttempts?: number;
  /** Before the second attempt. Default: 1. */
  initialInterval?: number;
  /** Between attempts. Default: 100 times the initial interval. */
  maxInterval?: number;
  /** Growth from wait to wait. Default: 2. */
  backoffCoefficient?: number;
  /** Types of failures that another attempt would not help. */
  nonRetryable?: string[];
}

/** Options of a task. Times are in seconds. */
interface TaskOptions {
  /** The call's id in the run's history. Default: made of its number. */
  id?: string;
  /** How long one attempt may take. Default: 60. */
  timeout?: number;
  /** How long the first attempt may wait for a worker. Default: no limit. */
  scheduleToStart?: number;
  /** How long all attempts may take. Default: no limit. */
  scheduleToClose?: number;
  /** How long an attempt may go on without a sign of life. Default: no limit. */
  heartbeat?: number;
  /** What a cancellation does: wait for the task's answer, try without waiting, or abandon it. */
  onCancel?: "wait" | "try" | "abandon";
  retry?: RetryOptions;
}

/** The first success of Task.any. */
interface Success<T> {
  /** The handle's id; of another promise, its index. */
  item_id: string | number;
  index: number;
  result: T;
}

/** The first end of Task.race. */
type End<T> =
  | { item_id: string | number; index: number; status: "completed"; result: T }
  | { item_id: string | number; index: number; status: "failed"; error: Error };

/** The failure of a task, a child, a timer or a signal. */
interface RunError extends Error {
  name: "TaskError" | "ChildError" | "TimeoutError" | "CancelledError";
  /** The author's own name of this sort of failure. */
  type?: string;
  /** The task or workflow that failed. */
  task?: string;
  /** What the author attached. */
  details?: JSONValue;
}

/** What both the script and a shielded part of it can call. */
interface TaskAPI {
  /**
   * Calls the program's activity of this name, or else the service of this name that a worker offers.
   * Throws a RunError when its attempts are used up.
   */
  run<T = any>(name: string, input?: unknown, options?: TaskOptions): Handle<T>;
  /** A durable timer. */
  delay(seconds: number): Handle<null>;
  /** All results in order. Throws the first failure. */
  all<T extends readonly unknown[] | []>(tasks: T): Handle<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
  /** The first success. Throws an AggregateError when all have failed. The others go on. */
  any<T>(tasks: Iterable<T | PromiseLike<T>>): Handle<Success<T>>;
  /** The first that ends, however it ends. The others go on. */
  race<T>(tasks: Iterable<T | PromiseLike<T>>): Handle<End<T>>;
  /** How each ended, in order. */
  allSettled<T>(tasks: Iterable<T | PromiseLike<T>>): Handle<PromiseSettledResult<T>[]>;
}

interface ChildOptions {
  /** The id of the child's run. Default: made of the parent's. */
  id?: string;
  /** What becomes of the child when its parent ends first. Default: cancel. */
  onParentClose?: "cancel" | "terminate" | "abandon";
}

interface RunInfo {
  runId: string;
  workflow: string;
  /** From 1: continueAsNew and a reset begin the next one. */
  generation: number;
  /** The run that started this one as a child. */
  parent?: string;
  /** How many events and commands the log has. */
  logSize: number;
  /** The log has become long: continue as new. */
  continueAsNewSuggested: boolean;
}

interface Shielded {
  Task: TaskAPI;
  Workflow: WorkflowAPI;
  wait_for_signal: typeof wait_for_signal;
}

interface WorkflowAPI {
  /** Starts a run of another workflow and waits for its end. */
  run<T = any>(name: string, input?: unknown, options?: ChildOptions): Handle<T>;
  /** Waits for a signal: see wait_for_signal. */
  signal<T = any>(name: string): Handle<T>;
  /** Waits until the function gives a true value. With a limit in seconds, it says whether it did in time. */
  condition(holds: () => unknown): Promise<void>;
  condition(holds: () => unknown, seconds: number): Promise<boolean>;
  /** The run's time. */
  now(): Date;
  /** A number from 0 to below 1, the same on replay. */
  random(): number;
  /** A UUID, the same on replay. */
  uuid(): string;
  info(): RunInfo;
  /** Sets what readers of the run see without asking it. */
  publish(state: unknown): void;
  /** Sets what the run is searched by. */
  attributes(values: Record<string, string | number | boolean | string[]>): void;
  /** Guards a change of code while runs of the old code are open. */
  patched(id: string): boolean;
  deprecatePatch(id: string): void;
  /** Goes on in a new generation: write `return Workflow.continueAsNew(input)`. */
  continueAsNew(input?: unknown): never;
  /** Calls the function with each signal of this name. */
  onSignal<T = any>(name: string, handler: (input: T) => unknown): void;
  /** Answers each update of this name. An error of validate rejects it, and nothing has happened. */
  onUpdate<I = any>(name: string, handler: (input: I) => unknown, options?: { validate?: (input: I) => void }): void;
  /** Answers each query of this name. The function only looks: it cannot wait. */
  onQuery<I = any>(name: string, handler: (input: I) => unknown): void;
  /** Runs the function with calls that no cancellation reaches: for cleaning up. */
  shield<T>(work: (shielded: Shielded) => T | PromiseLike<T>): Promise<T>;
}

declare const Task: TaskAPI;
declare const Workflow: WorkflowAPI;
/** Waits for the next signal of this name. Those that came before are kept, in order. */
declare function wait_for_signal<T = any>(name: string): Handle<T>;
/** Writes a line to the run's log, once: a replay does not write it again. */
declare const console: Record<"log" | "info" | "warn" | "error" | "debug", (...values: unknown[]) => void>;
