// A server on loopback with the parts of LDAP that a test needs, malformed ones included, and the bytes of its responses.
import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'

/** An element of BER (X.690): a tag, and a content with its true length. */
export function element(tag: number, ...parts: readonly (Buffer | string)[]): Buffer {
  const content = Buffer.concat(parts.map(part => Buffer.from(part)))
  if (content.length < 128) return Buffer.concat([Buffer.from([tag, content.length]), content])
  const header = Buffer.from([tag, 0x84, 0, 0, 0, 0])
  header.writeUInt32BE(content.length, 2)
  return Buffer.concat([header, content])
}

/** An LDAP message: its id and its operations. */
export const message = (id: number, ...parts: readonly Buffer[]): Buffer =>
  element(0x30, element(0x02, Buffer.from([id])), ...parts)

/** The end of an operation with a result code: 0x61 of a bind, 0x65 of a search, 0x78 of StartTLS. */
export const result = (tag: number, code = 0, ...more: readonly Buffer[]): Buffer =>
  element(tag, element(0x0a, Buffer.from([code])), element(0x04), element(0x04), ...more)

/** An entry that was found. */
export const foundEntry = (dn: string, attributes: Readonly<Record<string, readonly string[]>> = {}): Buffer =>
  element(
    0x64,
    element(0x04, dn),
    element(
      0x30,
      ...Object.entries(attributes).map(([name, values]) =>
        element(0x30, element(0x04, name), element(0x31, ...values.map(value => element(0x04, value)))),
      ),
    ),
  )

/** A running directory. */
export interface FakeDirectory {
  readonly port: number
  readonly url: string
  /** Connections so far. */
  readonly connections: Socket[]
  /** Everything that it received. */
  received(): Buffer
  /** May be called again. */
  stop(): Promise<void>
}

/** Calls `answer` with the number and operation of every received message. */
export async function startFakeDirectory(
  answer: (socket: Socket, asked: { readonly id: number; readonly operation: number }) => void,
): Promise<FakeDirectory> {
  const connections: Socket[] = []
  const chunks: Buffer[] = []
  const server = createServer(socket => {
    connections.push(socket)
    socket.on('error', () => {}) // the other side may close it at any time
    socket.on('data', bytes => {
      chunks.push(bytes)
      // Every message that the tests send comes in one piece; beyond 127 bytes its length has more than one.
      const first = bytes[1] ?? 0
      const start = bytes[0] === 0x30 ? 2 + (first < 0x80 ? 0 : first - 0x80) : undefined
      const id = start === undefined ? undefined : bytes[start + 2]
      const operation = start === undefined ? undefined : bytes[start + 3]
      answer(socket, { id: id ?? 0, operation: operation ?? 0 })
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // no pipe
  return {
    port,
    url: `ldap://127.0.0.1:${port}`,
    connections,
    received: () => Buffer.concat(chunks),
    async stop() {
      for (const socket of connections) socket.destroy()
      if (!server.listening) return
      await new Promise<void>((resolve, reject) => server.close(error => (error ? reject(error) : resolve())))
    },
  }
}
