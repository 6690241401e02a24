// Loaded into a process before anything else (`--import`): kills it at a statement, as a power cut would. `KILL_AT` is the
// number of the statement, counted over all connections, before or after which (`KILL_WHEN`) it ends.
import { DatabaseSync, StatementSync } from 'node:sqlite'
import pg from 'pg'

const at = Number(process.env['KILL_AT'])
const when = process.env['KILL_WHEN']
let count = 0

function counted(prototype: object, method: string): void {
  const original: unknown = Reflect.get(prototype, method)
  if (typeof original !== 'function') throw new Error(`there is no method ${method}`)
  Reflect.set(prototype, method, function (this: unknown, ...args: readonly unknown[]): unknown {
    count += 1
    const isLast = count === at
    if (isLast && when === 'before') process.kill(process.pid, 'SIGKILL')
    const result: unknown = Reflect.apply(original, this, args)
    if (isLast) process.kill(process.pid, 'SIGKILL')
    return result
  })
}

for (const method of ['run', 'all', 'get']) counted(StatementSync.prototype, method)
counted(DatabaseSync.prototype, 'exec')
counted(pg.Client.prototype, 'query')
