// Outbound connections of protocols other than HTTP have the same rules and limits.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'
import { createServer } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { OpenConnection, OutboundFailure, OutboundOptions } from '../../../src/base/outbound.ts'
import { createOutbound, OutboundBusy, OutboundError } from '../../../src/base/outbound.ts'

async function failureOf(work: Promise<unknown>): Promise<OutboundError> {
  const error: unknown = await work.then(
    () => assert.fail('succeeded'),
    (cause: unknown) => cause,
  )
  assert.ok(error instanceof OutboundError, String(error))
  return error
}

const strict: OutboundOptions = { allowPrivate: false, allowLoopback: false }
const nothing = () => assert.fail('connected')

describe('Forbidden outbound connections', () => {
  interface Refused {
    readonly hostname: string
    readonly addresses?: readonly string[]
    readonly options?: Partial<OutboundOptions>
    readonly failure?: OutboundFailure
  }
  const open = { allowPrivate: true }
  const refused: readonly Refused[] = [
    { hostname: '127.0.0.1' },
    { hostname: 'localhost', addresses: ['127.0.0.1', '::1'] },
    { hostname: '[::1]' },
    { hostname: '10.0.0.1' },
    { hostname: '10.0.0.1', options: { allowLoopback: true } },
    { hostname: '169.254.169.254', options: open },
    { hostname: '[::ffff:127.0.0.1]', options: open },
    { hostname: 'a.example', addresses: ['192.168.1.1'] },
    { hostname: 'a.example', addresses: ['1.1.1.1', '10.0.0.1'] },
    { hostname: 'a.example', addresses: ['fe80::1'], options: open },
    { hostname: '2130706433', addresses: ['127.0.0.1'] },
    { hostname: 'a.example', addresses: [], failure: 'unreachable' },
  ]
  for (const { hostname, addresses, options, failure = 'forbidden' } of refused) {
    it(`rejects ${hostname}, which resolves to ${addresses?.join(' and ') ?? 'itself'}`, async () => {
      const resolve = () => (addresses ? Promise.resolve(addresses) : assert.fail('the name was looked up'))
      const outbound = createOutbound({ ...strict, resolve, ...options })
      const error = await failureOf(outbound.connect({ hostname, port: 389 }, nothing))
      assert.equal(error.failure, failure)
      assert.ok(error.message.startsWith(`${hostname}:389: `), error.message)
    })
  }
})

describe('Outbound connections', () => {
  let server: Server
  let port: number
  const sockets: Socket[] = []
  before(async () => {
    server = createServer(socket => {
      sockets.push(socket)
      socket.on('error', () => {})
      socket.on('data', bytes => socket.write(bytes))
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    ;({ port } = server.address() as AddressInfo) // no pipe
  })
  after(() => server.close())

  const lenient = (options: Partial<OutboundOptions> = {}) =>
    createOutbound({ ...strict, allowLoopback: true, deadline: () => new AbortController().signal, ...options })
  const echo = async (open: OpenConnection): Promise<string> => {
    const socket = await open()
    socket.write('echo')
    const [bytes] = await once(socket, 'data')
    return String(bytes)
  }

  it('reuse the address of one lookup, transfer data, and close at the end', async () => {
    sockets.length = 0
    let lookUps = 0
    const resolve = () => Promise.resolve(lookUps++ === 0 ? ['127.0.0.1'] : ['10.0.0.1'])
    const said = await lenient({ resolve }).connect({ hostname: 'a.example', port }, async open => [
      await echo(open),
      await echo(open),
    ])
    assert.deepEqual(said, ['echo', 'echo'])
    assert.equal(lookUps, 1)
    await Promise.all(sockets.filter(socket => !socket.destroyed).map(socket => once(socket, 'close')))
  })

  it('close and rethrow when their work fails', async () => {
    sockets.length = 0
    const fault = new Error('of our own')
    const work = lenient().connect({ hostname: '127.0.0.1', port }, async open => {
      await echo(open)
      throw fault
    })
    await assert.rejects(work, error => error === fault)
    await Promise.all(sockets.filter(socket => !socket.destroyed).map(socket => once(socket, 'close')))
  })

  it('cannot be opened after the end', async () => {
    let late: OpenConnection = nothing
    await lenient().connect({ hostname: '127.0.0.1', port }, open => {
      late = open
      return Promise.resolve()
    })
    assert.equal((await failureOf(late())).failure, 'timeout')
  })

  it('fail if the connection is refused or the name is unknown', async () => {
    const closed = createServer()
    await new Promise<void>(resolve => closed.listen(0, '127.0.0.1', resolve))
    const { port: free } = closed.address() as AddressInfo // no pipe
    await new Promise<void>(resolve => closed.close(() => resolve()))
    const refused = await failureOf(lenient().connect({ hostname: '127.0.0.1', port: free }, open => open()))
    assert.equal(
      `${refused.failure} ${refused.message}`,
      `unreachable 127.0.0.1:${free}: cannot be reached (ECONNREFUSED)`,
    )
    const resolve = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }))
    const unknown = await failureOf(lenient({ resolve }).connect({ hostname: 'a.example', port: 1 }, nothing))
    assert.equal(`${unknown.failure} ${unknown.message}`, 'unreachable a.example:1: cannot be reached (ENOTFOUND)')
  })

  it('close at their deadline, after five seconds at most', async () => {
    for (const [withinMs, want] of [
      [undefined, 5000],
      [2500, 2500],
      [60_000, 5000],
    ] as const) {
      sockets.length = 0
      const time = new AbortController()
      const asked: number[] = []
      const deadline = (milliseconds: number): AbortSignal => {
        asked.push(milliseconds)
        return time.signal
      }
      const silent = lenient({ deadline }).connect(
        { hostname: '127.0.0.1', port, ...(withinMs && { withinMs }) },
        async open => {
          await echo(open)
          time.abort()
          return new Promise(() => {})
        },
      )
      assert.equal((await failureOf(silent)).failure, 'timeout')
      assert.deepEqual(asked, [want])
      await Promise.all(sockets.filter(socket => !socket.destroyed).map(socket => once(socket, 'close')))
    }
  })

  it('share their limits with requests', async () => {
    const outbound = lenient({ resolve: () => new Promise(() => {}) })
    for (let host = 0; host < 4; host += 1) {
      void outbound.getJson(`https://h${host}.example/`).catch(() => {})
      void outbound.connect({ hostname: `h${host}.example`, port: 389 }, nothing).catch(() => {})
    }
    const last = outbound.connect({ hostname: 'last.example', port: 389 }, nothing)
    await assert.rejects(last, OutboundBusy)
    await assert.rejects(outbound.getJson('https://last.example/'), OutboundBusy)
  })

  it('are limited to four per server', async () => {
    const outbound = lenient()
    const free: (() => void)[] = []
    const four = Array.from({ length: 4 }, () =>
      outbound.connect({ hostname: '127.0.0.1', port }, () => new Promise<void>(resolve => free.push(resolve))),
    )
    await assert.rejects(outbound.connect({ hostname: '127.0.0.1', port }, nothing), OutboundBusy)
    assert.equal(await outbound.connect({ hostname: 'localhost', port }, echo), 'echo')
    while (free.length < 4) await new Promise(setImmediate)
    for (const each of free) each()
    await Promise.all(four)
    assert.equal(await outbound.connect({ hostname: '127.0.0.1', port }, echo), 'echo')
  })
})
