// The thread of sqlite-thread.ts: runs the statements it receives, one after another, on a connection of its own.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Answer, Question, ThreadSettings } from './sqlite-thread.ts'

const { path, timeoutMilliseconds, readOnly }: ThreadSettings = workerData
const database = new DatabaseSync(path, { readOnly, timeout: timeoutMilliseconds })

parentPort?.on('message', ({ id, text, values }: Question) => {
  parentPort?.postMessage(answer(id, () => database.prepare(text).all(...values)))
})

function answer(id: number, work: () => readonly unknown[]): Answer {
  try {
    return { id, rows: work() }
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'errcode') : undefined
    const message = cause instanceof Error ? cause.message : String(cause)
    return { id, error: { message, ...(typeof code === 'number' && { errcode: code }) } }
  }
}
