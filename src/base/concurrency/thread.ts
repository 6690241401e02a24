// A thread for work that would block the main thread. It starts on demand and ends when idle, because it costs 11 MB.
import type { Worker } from 'node:worker_threads'
import { stopwatch } from '../clock.ts'

/** The number of the message that reports that the thread is ready. */
export const READY = 0

/** A request to the thread and its response have the same number, from 1. */
export interface Numbered<Content> {
  readonly id: number
  readonly content: Content
}

/** Handles requests off the main thread, one after another. */
interface Thread<Question, Answer> {
  /** Throws `ThreadEnded` when the thread ends without a response. */
  ask(question: Question): Promise<Answer>
  /** Whether the thread is ready. If there is none, it is started, unless one has failed within the last minute. */
  isReady(): boolean
  close(): Promise<void>
}

/** The thread did not start, failed, or was closed before it responded. `cause` is the error, if any. */
export class ThreadEnded extends Error {}

const IDLE_MILLISECONDS = 10_000
const RESTART_MILLISECONDS = 60_000

/** Starts no thread before the first request. The file handles requests by `answerQuestions`. */
export function createThread<Question, Answer>({
  file,
  data,
  last,
}: {
  readonly file: URL
  /** The `workerData` of the thread. */
  readonly data?: unknown
  /** Asked before an idle thread ends. */
  readonly last?: Question | undefined
}): Thread<Question, Answer> {
  let current: Promise<Running<Question, Answer>> | undefined
  let isListening = false
  let sinceFailure: (() => number) | undefined
  let idle: NodeJS.Timeout | undefined
  let asked = 0

  function begin(): Promise<Running<Question, Answer>> {
    const onEnd = (): void => {
      if (current !== thread) return // it was to end
      current = undefined
      isListening = false
      sinceFailure = stopwatch()
    }
    const thread = start<Question, Answer>(file, data, { onReady: () => (isListening = current === thread), onEnd })
    thread.catch(onEnd)
    return thread
  }

  /** The next request starts another thread. */
  function forget(): typeof current {
    const ending = current
    current = undefined
    isListening = false
    return ending
  }

  async function endIdle(): Promise<void> {
    try {
      const thread = await forget()
      if (last !== undefined) await thread?.ask(last)
      await thread?.end()
    } catch {
      // a persistent problem also fails the next request, which reports it
    }
  }

  function endWhenIdle(): void {
    clearTimeout(idle)
    idle = setTimeout(() => void endIdle(), IDLE_MILLISECONDS).unref()
  }

  return {
    async ask(question) {
      asked += 1
      clearTimeout(idle)
      try {
        current ??= begin()
        return await (await current).ask(question)
      } finally {
        asked -= 1
        if (asked === 0) endWhenIdle()
      }
    },
    isReady() {
      if (current === undefined && (sinceFailure === undefined || sinceFailure() > RESTART_MILLISECONDS)) {
        current = begin()
        endWhenIdle()
      }
      return isListening
    },
    async close() {
      clearTimeout(idle)
      await (await forget())?.end()
    },
  }
}

interface Running<Question, Answer> {
  ask(question: Question): Promise<Answer>
  end(): Promise<unknown>
}

interface Waiting<Answer> {
  readonly resolve: (answer: Answer) => void
  readonly reject: (reason: Error) => void
}

async function start<Question, Answer>(
  file: URL,
  data: unknown,
  { onReady, onEnd }: { readonly onReady: () => void; readonly onEnd: () => void },
): Promise<Running<Question, Answer>> {
  const worker = await newWorker(file, data)
  const waiting = new Map<number, Waiting<Answer>>()
  let lastId = 0
  let isEnding = false
  worker.unref() // an idle thread keeps no process alive
  worker.on('message', ({ id, content }: Numbered<Answer>) => {
    if (id === READY) return onReady()
    const caller = waiting.get(id)
    waiting.delete(id)
    if (waiting.size === 0 && !isEnding) worker.unref() // one that ends keeps it alive until it has
    caller?.resolve(content)
  })
  let cause: unknown
  worker.on('error', error => (cause = error)) // `exit` follows
  worker.on('exit', () => {
    onEnd()
    for (const { reject } of waiting.values()) reject(new ThreadEnded('the thread has ended', { cause }))
  })
  return {
    ask(content) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>()
      lastId += 1
      waiting.set(lastId, { resolve, reject })
      worker.ref()
      worker.postMessage({ id: lastId, content } satisfies Numbered<Question>)
      return promise
    },
    end() {
      isEnding = true
      worker.ref()
      return worker.terminate()
    },
  }
}

/** Throws `ThreadEnded` where the process may have no further thread. */
async function newWorker(file: URL, workerData: unknown): Promise<Worker> {
  const threads = await import('node:worker_threads')
  try {
    return new threads.Worker(file, { workerData, env: {} })
  } catch (cause) {
    throw new ThreadEnded('the thread cannot be started', { cause })
  }
}
