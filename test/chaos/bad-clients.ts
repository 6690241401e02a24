// Hostile clients: slow, half closed, malformed, or very many.
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'
const POST = 'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n'

/** Opens connections, omitting those that fail. */
async function open(port: number, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  const lanes = Array.from({ length: count }, (_, index) => index).values()
  const work = async (): Promise<void> => {
    for (const _ of lanes) {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {}) // a reset is what these clients are for
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      if (!socket.destroyed) sockets.push(socket)
    }
  }
  await Promise.all(Array.from({ length: 64 }, work))
  return sockets
}

const leave = (sockets: readonly Socket[]): void => sockets.forEach(socket => socket.destroy())

/** Requests sent byte by byte, never completed. */
export async function slowClients(port: number): Promise<void> {
  const sockets = await open(port, 300)
  for (const [index, socket] of sockets.entries())
    if (index % 2 === 0) socket.write(`${POST}Content-Length: 500\r\n\r\n`)
  for (let byte = 0; byte < 30; byte += 1) {
    for (const socket of sockets) if (socket.writable) socket.write('a')
    await pause(100)
  }
  leave(sockets)
}

/** Closes half of each connection at some time, without reading responses. */
export async function halfClosed(port: number): Promise<void> {
  for (const bytes of ['', 'GET / HT', REQUEST, `${POST}Content-Length: 500\r\n\r\nabc`, REQUEST.repeat(20)]) {
    const sockets = await open(port, 60)
    for (const socket of sockets) {
      socket.pause()
      socket.end(bytes)
    }
    await pause(500)
    leave(sockets)
  }
}

/** Requests mixed with garbage in one packet. */
export async function garbage(port: number): Promise<void> {
  const noise = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919) % 256)).toString('latin1')
  for (let turn = 0; turn < 10; turn += 1) {
    const sockets = await open(port, 30)
    for (const socket of sockets) {
      socket.resume()
      socket.write(REQUEST.repeat(turn) + noise.slice(turn * 13), 'latin1')
    }
    await pause(200)
    leave(sockets)
  }
}

/** Opens this many connections for three seconds, a tenth of them with a request; returns how many succeeded. */
export async function openConnections(port: number, count: number): Promise<number> {
  const sockets = await open(port, count)
  for (const [index, socket] of sockets.entries()) {
    socket.resume()
    if (index % 10 === 0) socket.write(REQUEST)
  }
  await pause(3000)
  const made = sockets.length
  leave(sockets)
  if (made < count) throw new Error(`only ${made} of ${count} connections could be made: raise the limit of open files`)
  return made
}
