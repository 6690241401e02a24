import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer, TestServer } from '../../support/server.ts'
import { startServer, defaultBootstrap } from '../../support/server.ts'

const SECRETS: Readonly<Record<string, string>> = {
  'a+b': 'one+two',
  percent: '100%',
  encoded: '%41+',
  umlaut: 'Schlüssel',
  colon: 'a:b::',
  long: 'x'.repeat(500),
  plain: 'secret',
}
const bootstrap = {
  ...defaultBootstrap,
  clients: Object.entries(SECRETS).map(([id, secret]) => ({
    client_id: id,
    client_secret: secret,
    authorized_grant_types: ['client_credentials'],
    authorities: ['jobs.run', 'svc.resource'],
  })),
}
const base64 = (text: string): string => Buffer.from(text).toString('base64')

for (const mode of MODES) {
  for (const isOn of [true, false]) {
    describe(`enableUriEncodingCompatibilityMode=${isOn} in ${mode}`, () => {
      let server: TestServer
      before(async () => {
        const authentication = { enableUriEncodingCompatibilityMode: isOn }
        server = await startServer({ mode, config: { bootstrap, authentication } })
      })
      after(async () => {
        assert.deepEqual(server.faults, [])
        await server.stop()
      })

      const send = (authorization: string, headers: Readonly<Record<string, string>> = {}): Promise<TestAnswer> =>
        server.token({ grant_type: 'client_credentials' }, { headers: { authorization, ...headers } })
      const plain = (id: string): string => `Basic ${base64(`${id}:${SECRETS[id] ?? ''}`)}`
      const formEncoded = (id: string): string =>
        `Basic ${base64(`${encodeURIComponent(id)}:${encodeURIComponent(SECRETS[id] ?? '')}`)}`

      for (const id of Object.keys(SECRETS)) {
        const isSame = formEncoded(id) === plain(id)
        const tolerated = isSame || id === 'umlaut' || id === 'colon' // no characters with a meaning in forms

        // Covers configuration file: authentication.enableUriEncodingCompatibilityMode
        it(`${isOn || tolerated ? 'accepts' : 'refuses'} plain credentials: ${id}`, async () => {
          assert.equal((await send(plain(id))).status, isOn || tolerated ? 200 : 401)
        })

        it(`${isOn && !isSame ? 'refuses' : 'accepts'} form-encoded credentials: ${id}`, async () => {
          assert.equal((await send(formEncoded(id))).status, isOn && !isSame ? 401 : 200)
        })

        // Covers client authentication: X-CF-ENCODED-CREDENTIALS
        it(`accepts form-encoded credentials with X-CF-Encoded-Credentials: ${id}`, async () => {
          for (const value of ['true', 'TRUE']) {
            assert.equal((await send(formEncoded(id), { 'x-cf-encoded-credentials': value })).status, 200)
          }
        })
      }

      it('accepts no other value of the header', async () => {
        for (const value of ['false', '', '1', 'yes', 'true, true']) {
          const answer = await send(plain('a+b'), { 'x-cf-encoded-credentials': value })
          assert.equal(answer.status, isOn ? 200 : 401, value)
        }
      })

      it('applies at every endpoint with client authentication', async () => {
        const authorization = plain('a+b')
        for (const path of ['/introspect', '/check_token']) {
          const answer = await server.send(path, { form: { token: 'x' }, headers: { authorization } })
          assert.equal(answer.status === 401, !isOn, path)
        }
      })

      const bad = [
        { name: 'invalid base64', header: 'Basic a:b', want: 'Failed to decode basic authentication token' },
        { name: 'truncated base64', header: 'Basic YTpiY', want: 'Failed to decode basic authentication token' },
        {
          name: 'bytes that are not UTF-8',
          header: `Basic ${Buffer.from('a:\xff', 'latin1').toString('base64')}`,
          want: 'Failed to decode basic authentication token',
        },
        { name: 'no colon', header: `Basic ${base64('ab')}`, want: 'Invalid basic authentication token' },
        { name: 'a wrong secret', header: `Basic ${base64('plain:x')}`, want: 'Bad credentials' },
        {
          name: 'an unknown client',
          header: `Basic ${base64('%:x+')}`,
          want: isOn ? 'Bad credentials' : 'Failed to URL Decode credentials',
        },
      ]
      for (const { name, header, want } of bad) {
        it(`refuses ${name}`, async () => {
          const answer = await send(header)
          assert.equal(`${answer.status} ${String(answer.json()['error'])}`, '401 invalid_client')
          assert.equal(answer.json()['error_description'], want)
        })
      }
    })
  }
}
