// The counterpart of thread.ts, which runs in the thread.
import { parentPort } from 'node:worker_threads'
import { READY } from './thread.ts'
import type { Numbered } from './thread.ts'

/** Handles one message after another. If `answer` throws, the thread ends. */
export function answerQuestions(answer: (question: never) => unknown): void {
  parentPort?.on('message', ({ id, content }: Numbered<never>) => {
    parentPort?.postMessage({ id, content: answer(content) } satisfies Numbered<unknown>)
  })
  parentPort?.postMessage({ id: READY, content: undefined } satisfies Numbered<undefined>)
}
