// The log of a real process, as read by a log collector.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { serve } from '../support/process.ts'
import type { ServerProcess } from '../support/process.ts'
import { send } from '../support/visitor.ts'

const bootstrap = {
  clients: [{ client_id: 'app', client_secret: 's', authorized_grant_types: ['client_credentials'] }],
  identity_zones: [
    {
      id: 'zone-1',
      subdomain: 'z1',
      name: 'Zone 1',
      bootstrap: {
        clients: [{ client_id: 'app', client_secret: 's', authorized_grant_types: ['client_credentials'] }],
      },
    },
  ],
}
const form = { grant_type: 'client_credentials' }
const basic = ['app', 's'] as const
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

type Line = Readonly<Record<string, unknown>>

/** The log lines written until the process ended. */
async function linesOf(server: ServerProcess): Promise<readonly Line[]> {
  const { status, stdout } = await server.stop()
  assert.equal(status, 0)
  return stdout
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line) as Line)
}

const ofRequest = (lines: readonly Line[], id: unknown): readonly Line[] =>
  lines.filter(line => line['request_id'] === id)

describe('log.requests', () => {
  it('logs one line per request, with its id, zone and trace', async () => {
    const server = await serve({ config: { bootstrap, log: { requests: 'all' } } })
    const url = `${server.baseUrl}/oauth/token`
    const [good, other, bad] = await Promise.all([
      send(url, { form, basic, headers: { traceparent } }),
      send(`${server.baseUrl}/z/z1/oauth/token`, { form, basic }),
      send(url, { form, basic: ['app', 'wrong'], headers: { traceparent: '00-0-0-00', 'x-request-id': 'forged' } }),
    ])
    const nowhere = await send(`${server.baseUrl}/nowhere/secret-code?code=secret-code`)
    const lines = await linesOf(server)

    const ids = [good, other, bad, nowhere].map(({ headers }) => headers['x-request-id'])
    assert.equal(new Set(ids).size, 4)
    for (const id of ids) assert.match(String(id), /^[\w-]{10}-[0-9a-z]+$/)
    const common = { zone: 'svc', trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' }
    const ofGood = ofRequest(lines, ids[0])
    assert.deepEqual(
      ofGood.map(({ log, msg, zone, trace_id }) => ({ log, msg, zone, trace_id })),
      [
        { log: 'audit', msg: 'ClientAuthenticationSuccess', ...common },
        { log: 'audit', msg: 'TokenIssuedEvent', ...common },
        { log: 'request', msg: 'request', ...common },
      ],
    )
    const { method, endpoint, status, address, milliseconds } = ofGood[2] ?? {}
    assert.deepEqual(
      { method, endpoint, status, address },
      { method: 'POST', endpoint: '/oauth/token', status: 200, address: '127.0.0.1' },
    )
    assert.ok(Number(milliseconds) > 0)
    assert.deepEqual(
      ofRequest(lines, ids[1]).map(({ msg, zone }) => [msg, zone]),
      [
        ['ClientAuthenticationSuccess', 'zone-1'],
        ['TokenIssuedEvent', 'zone-1'],
        ['request', 'zone-1'],
      ],
    )
    assert.deepEqual(
      ofRequest(lines, ids[2]).map(({ msg, status: answered, trace_id }) => [msg, answered, trace_id]),
      [
        ['ClientAuthenticationFailure', undefined, undefined],
        ['request', 401, undefined],
      ],
    )
    assert.deepEqual(
      ofRequest(lines, ids[3]).map(line => [line['endpoint'], line['status']]),
      [['unknown', 404]],
    )
    assert.equal(JSON.stringify(lines).includes('secret-code'), false)
    assert.equal(lines.find(({ msg }) => String(msg).startsWith('bootstrap:'))?.['request_id'], undefined)
  })

  it('context: reads the id given by a trusted proxy, and logs no line per request', async () => {
    const listen = { trusted_proxies: ['127.0.0.1'] }
    const server = await serve({ config: { bootstrap, listen, log: { requests: 'context' } } })
    const url = `${server.baseUrl}/oauth/token`
    const given = 'd2c1f0e4b5a69788-1'
    const answer = await send(url, { form, basic, headers: { 'x-request-id': given } })
    const refused = ['with space', 'x'.repeat(65), '"}']
    const others = []
    for (const id of refused) others.push(await send(url, { form, basic, headers: { 'x-request-id': id } }))
    const lines = await linesOf(server)
    assert.equal(answer.headers['x-request-id'], given)
    assert.deepEqual(
      ofRequest(lines, given).map(({ msg }) => msg),
      ['ClientAuthenticationSuccess', 'TokenIssuedEvent'],
    )
    for (const { headers } of others) assert.match(String(headers['x-request-id']), /^[\w-]{10}-[0-9a-z]+$/)
  })

  it('none: logs no request', async () => {
    const server = await serve({ config: { bootstrap } })
    const { headers } = await send(`${server.baseUrl}/oauth/token`, { form, basic, headers: { traceparent } })
    const lines = await linesOf(server)
    assert.equal(headers['x-request-id'], undefined)
    assert.equal(
      lines.some(line => 'request_id' in line || 'trace_id' in line || line['log'] === 'request'),
      false,
    )
    assert.equal(lines.filter(({ log }) => log === 'audit').length, 2)
  })
})
