// The thread of thread.ts: runs the statements it receives, one after another, on a connection of its own.
import { DatabaseSync } from 'node:sqlite'
import { workerData } from 'node:worker_threads'
import { answerQuestions } from '../../../base/concurrency/thread-answers.ts'
import type { Outcome, Statement, ThreadSettings } from './thread.ts'

const { path, timeoutMilliseconds, readOnly }: ThreadSettings = workerData
const database = new DatabaseSync(path, { readOnly, timeout: timeoutMilliseconds })

answerQuestions(({ text, values }: Statement): Outcome => {
  try {
    return { rows: database.prepare(text).all(...values) }
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'errcode') : undefined
    const message = cause instanceof Error ? cause.message : String(cause)
    return { error: { message, ...(typeof code === 'number' && { errcode: code }) } }
  }
})
