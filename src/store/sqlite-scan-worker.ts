// The thread of sqlite-scan.ts: runs what it is sent, one statement after another, on a connection of its own that only
// reads.
import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { ScanAnswer, ScanQuestion, ScanSettings } from './sqlite-scan.ts'

const { path, patienceMilliseconds }: ScanSettings = workerData
const database = new DatabaseSync(path, { readOnly: true, timeout: patienceMilliseconds })

parentPort?.on('message', ({ id, text, values }: ScanQuestion) => {
  parentPort?.postMessage(answer(id, () => database.prepare(text).all(...values)))
})

function answer(id: number, work: () => readonly unknown[]): ScanAnswer {
  try {
    return { id, rows: work() }
  } catch (cause) {
    const code: unknown = cause instanceof Error ? Reflect.get(cause, 'errcode') : undefined
    const message = cause instanceof Error ? cause.message : String(cause)
    return { id, error: { message, ...(typeof code === 'number' && { errcode: code }) } }
  }
}
