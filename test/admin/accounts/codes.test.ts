import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MAX_DATA_LENGTH } from '../../../src/admin/accounts/codes.ts'
import { issueCode } from '../../../src/accounts/codes.ts'
import { createRandom } from '../../../src/base/random.ts'
import { MODES, userNamed } from '../../support/oauth.ts'
import type { TestAnswer, TestRequest, TestServer } from '../../support/server.ts'
import { defaultBootstrap, startServer } from '../../support/server.ts'
import { caller } from '../../support/zones.ts'
import { JSON_TYPE, LOGIN_SERVER, loginServerCalls } from './support.ts'

const config = {
  bootstrap: {
    ...defaultBootstrap,
    clients: [LOGIN_SERVER, caller('root', 'svc.admin'), caller('other', 'scim.write')],
    identity_zones: [{ id: 'z1', subdomain: 'z1', name: 'Zone 1', bootstrap: { clients: [LOGIN_SERVER] } }],
  },
}
const Z1 = 'z1.localhost:8080'

interface Kept {
  readonly code: string
  readonly expiresAt: number
  readonly data: string
  readonly intent: null
}

for (const mode of MODES) {
  describe(`/Codes in ${mode}`, () => {
    let server: TestServer
    let bearer: string
    before(async () => {
      server = await startServer({ mode, config })
      bearer = await tokenOf('login')
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const { tokenOf } = loginServerCalls(() => server)
    const inFuture = (seconds = 60): number => server.clock.now().getTime() + seconds * 1000
    const post = (body: unknown, more: TestRequest = {}): Promise<TestAnswer> =>
      server.send('/Codes', {
        method: 'POST',
        bearer,
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: JSON_TYPE,
        ...more,
      })
    const get = (code: string, more: TestRequest = {}): Promise<TestAnswer> =>
      server.send(`/Codes/${code}`, { bearer, ...more })
    const kept = async (given: object = {}): Promise<Kept> => {
      const answer = await post({ expiresAt: inFuture(), data: '{"x":1}', ...given })
      assert.equal(answer.status, 201, answer.text)
      return answer.json<Kept>()
    }
    const assertGone = (answer: TestAnswer, code: string): void => {
      const message = `Code not found: ${code}`
      assert.equal(answer.status, 404)
      assert.deepEqual(answer.json(), { error: 'code_store', error_description: message, message })
    }

    // Covers POST /Codes: response: code; expiresAt; data; intent
    it('returns stored data once', async () => {
      const made = await kept({ intent: 'MINE', code: 'given-by-me' })
      assert.match(made.code, /^[\w-]{32}$/)
      assert.deepEqual(made, { code: made.code, expiresAt: inFuture(), data: '{"x":1}', intent: null })
      const found = await get(made.code)
      assert.equal(found.status, 200)
      assert.match(String(found.headers['cache-control']), /no-store/)
      assert.deepEqual(found.json(), made)
      assertGone(await get(made.code), made.code)
    })

    // Covers GET /Codes/{code}: code
    it('returns it to one of two concurrent requests', async () => {
      const { code } = await kept()
      const statuses = (await Promise.all([get(code), get(code)])).map(({ status }) => status)
      assert.deepEqual(
        statuses.toSorted((a, b) => a - b),
        [200, 404],
      )
    })

    it('stores only a digest of the code', async () => {
      const { code } = await kept()
      assert.equal(await server.store.oneTimeCodes.find('svc', 'text', code), undefined)
    })

    // Covers POST /Codes: expiresAt
    it('accepts expiresAt as a date', async () => {
      const made = await kept({ expiresAt: '2030-01-01T00:00:00.000Z' })
      assert.equal(made.expiresAt, Date.UTC(2030, 0, 1))
    })

    // Covers GET /Codes/{code}: error: not found
    it('answers 404 after expiry', async () => {
      const { code } = await kept({ expiresAt: inFuture(1) })
      server.clock.advance(1)
      assertGone(await get(code), code)
    })

    it('answers 405 to other methods, without consuming the code', async () => {
      const { code } = await kept()
      assert.equal((await get(code, { method: 'HEAD' })).status, 405)
      assert.equal((await get(code, { method: 'DELETE' })).status, 405)
      assert.equal((await server.send('/Codes', { bearer })).status, 405)
      assert.equal((await get(code)).status, 200)
    })

    const refusals: readonly (readonly [name: string, body: unknown, message: string | RegExp, status?: number])[] = [
      // Covers POST /Codes: error: data and expiresAt required
      ['no data', { expiresAt: 1 }, 'data and expiresAt are required.'],
      ['no expiresAt', { data: '{}' }, 'data and expiresAt are required.'],
      ['null', { data: null, expiresAt: null }, 'data and expiresAt are required.'],
      // Covers POST /Codes: error: expiresAt in the past
      ['an expiresAt in the past', { data: '{}', expiresAt: 1 }, 'expiresAt must be in the future.'],
      [
        'an expiresAt after more than five years',
        { data: '{}', expiresAt: Date.UTC(2040, 0) },
        'expiresAt must be within the next five years',
      ],
      ['an expiresAt that is not a date', { data: '{}', expiresAt: 'soon' }, 'expiresAt must be a date and time'],
      ['an expiresAt of 1e300', { data: '{}', expiresAt: 1e300 }, 'expiresAt must be a date and time'],
      ['data that is not a string', { data: { x: 1 }, expiresAt: 1 }, 'data must be a string'],
      ['data with a NUL character', { data: 'a\0b', expiresAt: 1 }, 'data must be a string'],
      [
        'long data',
        { data: 'x'.repeat(MAX_DATA_LENGTH + 1), expiresAt: 1 },
        /^data must have at most 65536 characters/,
      ],
      // Covers POST /Codes: error: unreadable body
      ['invalid JSON', '{bad', 'The request body is not valid JSON'],
      ['a list', '[]', 'The request body must be a JSON object'],
    ]
    for (const [name, body, message, status = 400] of refusals) {
      it(`refuses ${name}`, async () => {
        const answer = await post(body)
        assert.equal(answer.status, status)
        const { error, ...reported } = answer.json<{ error: string; message: string; error_description: string }>()
        assert.equal(error, 'code_store')
        assert.equal(reported.message, reported.error_description)
        if (typeof message === 'string') assert.equal(reported.message, message)
        else assert.match(reported.message, message)
      })
    }

    // Covers POST /Codes: data
    it('accepts data of 64 KiB', async () => {
      const { code, data } = await kept({ data: 'x'.repeat(MAX_DATA_LENGTH) })
      assert.equal((await get(code)).json<Kept>().data, data)
    })

    it('refuses a form', async () => {
      const answer = await post('data=x', { headers: { 'content-type': 'application/x-www-form-urlencoded' } })
      assert.equal(answer.status, 415)
      assert.equal(answer.headers['accept'], 'application/json')
      assert.equal(answer.json()['error'], 'code_store')
    })

    it('requires oauth.login or an administrator', async () => {
      const { code } = await kept()
      const other = await tokenOf('other')
      for (const answer of [await post({}, { bearer: other }), await get(code, { bearer: other })]) {
        assert.equal(answer.status, 403)
        assert.equal(answer.json()['scope'], 'svc.admin oauth.login')
      }
      const { status, headers } = await server.send(`/Codes/${code}`)
      assert.equal(status, 401)
      assert.match(String(headers['www-authenticate']), /^Bearer realm="SVC\/oauth"/i)
      assert.equal((await get(code, { bearer: await tokenOf('root') })).status, 200)
    })

    it('answers 404 for codes of another zone', async () => {
      const there = await tokenOf('login', Z1)
      const { code } = await kept()
      assertGone(await get(code, { host: Z1, bearer: there }), code)
      assert.equal((await get(code, { headers: { 'x-identity-zone-id': 'z1' } })).status, 403)
      const root = await tokenOf('root')
      assertGone(await get(code, { bearer: root, headers: { 'x-identity-zone-id': 'z1' } }), code)
      assert.equal((await get(code)).status, 200)
    })

    // Covers one-time codes: /Codes
    it('answers 404 for codes of other purposes', async () => {
      const zone = (await server.store.zones.find('svc')) ?? assert.fail()
      const user = await userNamed(server, 'marissa')
      const deps = { store: server.store, clock: server.clock, random: createRandom() }
      const { value } = await issueCode(zone, { purpose: 'password-reset', user, data: {} }, deps)
      assertGone(await get(value), value)
      for (const strange of ['none', '%00', 'x'.repeat(99)]) {
        assert.equal((await get(strange)).status, 404)
      }
    })
  })
}
