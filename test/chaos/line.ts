// A line between a node and its database that can be cut, silenced and slowed down.
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { Socket } from 'node:net'

/** What it does with data. */
export type LineState =
  | 'open'
  /** Drops nothing but delivers nothing either, as when a switch fails; pending data arrives once reopened. */
  | 'silent'
  /** Connections are closed, and new ones refused. */
  | 'cut'

/** One line. */
export interface Line {
  /** The URL of the database through it. */
  readonly url: string
  set(state: LineState): void
  /** Delays each response of the database by this time. */
  delay(milliseconds: number): void
  close(): Promise<void>
}

/** Opens a line to the database of the URL. */
export async function openLine(databaseUrl: string): Promise<Line> {
  const { hostname, port } = new URL(databaseUrl)
  let state: LineState = 'open'
  let delayMs = 0
  const sockets = new Set<Socket>()
  /** Data that waits until the line is open again. */
  let waiting: (() => void)[] = []

  const whenOpen = (work: () => void): void => {
    if (state === 'silent') waiting.push(work)
    else work()
  }

  const server = createServer(near => {
    if (state === 'cut') return void near.destroy()
    const far = connect(Number(port), hostname)
    const pass = (from: Socket, to: Socket, isAnswer: boolean): void => {
      sockets.add(from)
      from.setNoDelay(true)
      const later = (work: () => void): void => {
        // Timers of one length run in their order.
        if (isAnswer && delayMs > 0) setTimeout(() => whenOpen(work), delayMs)
        else whenOpen(work)
      }
      from.on('data', chunk => later(() => to.writable && to.write(chunk)))
      from.on('error', () => {}) // the other end is closed below
      from.on('close', () => {
        sockets.delete(from)
        later(() => to.destroy())
      })
    }
    pass(near, far, false)
    pass(far, near, true)
    return undefined
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = new URL(databaseUrl)
  url.port = String(address !== null && typeof address === 'object' ? address.port : 0)

  return {
    url: url.href,
    set(next) {
      state = next
      if (state === 'silent') return
      const held = waiting
      waiting = []
      for (const work of held) work()
      if (state === 'cut') for (const socket of sockets) socket.destroy()
    },
    delay(milliseconds) {
      delayMs = milliseconds
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
