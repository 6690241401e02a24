import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPasswords } from '../../src/base/passwords.ts'
import { APP, changeUser, MODES, userNamed } from '../support/oauth.ts'
import type { TestServer } from '../support/server.ts'
import { defaultBootstrap, startServer } from '../support/server.ts'
import { caller, sendJson, tokenOf } from '../support/zones.ts'

const passwords = createPasswords({ concurrency: 2, cost: { memoryKib: 64, passes: 1 } })
const COMPOSED = 'gr\u00fcne-b\u00e4ume-\u00fcberall'
const DECOMPOSED = COMPOSED.normalize('NFD')
/** With a letter whose composed and decomposed forms both differ from it. */
const KELVIN = '\u212a-\u00fcber-und-\u00fcber'
const SECRET = 's\u00e9cret-of-a-client'
const person = (userName: string, password: string) => ({
  userName,
  password,
  emails: [{ value: `${userName}@shop.example` }],
})

for (const mode of MODES) {
  describe(`Unicode normalization of passwords in ${mode}`, () => {
    let server: TestServer
    before(async () => {
      server = await startServer({
        mode,
        config: {
          bootstrap: {
            ...defaultBootstrap,
            users: [
              ...defaultBootstrap.users,
              person('ulla', DECOMPOSED),
              person('olaf', COMPOSED),
              person('kel', 'x'),
            ],
            clients: [
              ...defaultBootstrap.clients,
              caller('root', 'svc.admin', 'scim.write', 'password.write'),
              { ...caller('accented'), client_secret: SECRET },
            ],
          },
        },
      })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    const signIn = async (username: string, password: string): Promise<number> =>
      (await server.token({ grant_type: 'password', username, password }, { basic: APP })).status

    it('accepts both forms of a configured password', async () => {
      for (const userName of ['ulla', 'olaf']) {
        for (const password of [COMPOSED, DECOMPOSED]) assert.equal(await signIn(userName, password), 200)
        assert.notEqual(await signIn(userName, COMPOSED.replaceAll('\u00fc', 'u')), 200)
        assert.notEqual(
          await signIn(userName, COMPOSED.replaceAll('-', '\uff0d')),
          200,
          'fullwidth characters are distinct',
        )
      }
    })

    it('accepts both forms of a password set by the API', async () => {
      const bearer = await tokenOf(server, 'root')
      const made = await sendJson(server, 'POST', '/Users', person('api', DECOMPOSED), { bearer })
      assert.equal(made.status, 201, made.text)
      assert.equal(await signIn('api', COMPOSED), 200)
      const { id } = made.json<{ id: string }>()
      const changed = { password: `${DECOMPOSED}2` }
      const put = await sendJson(server, 'PUT', `/Users/${id}/password`, changed, { bearer })
      assert.equal(put.status, 200, put.text)
      assert.equal(await signIn('api', `${COMPOSED}2`), 200)
      const same = await sendJson(server, 'PUT', `/Users/${id}/password`, { password: `${COMPOSED}2` }, { bearer })
      assert.equal(same.status, 422, 'the same as the old password')
    })

    it('applies the length limits to the composed form', async () => {
      const bearer = await tokenOf(server, 'root')
      const create = (password: string) => sendJson(server, 'POST', '/Users', person('limits', password), { bearer })
      const long = (count: number): string => Array.from({ length: count }, (_, index) => `u\u0308${index}`).join('')
      assert.match((await create(long(110))).text, /no more than 255 characters/)
      const password = long(80) // 310 characters, 230 composed
      const made = await create(password)
      assert.equal(made.status, 201, made.text)
      assert.equal(await signIn('limits', password.normalize('NFC')), 200)
    })

    it('accepts an imported hash of another form, and replaces it at sign-in', async () => {
      for (const password of [DECOMPOSED, KELVIN]) {
        await changeUser(server, 'kel', { passwordHash: await passwords.hash(password) })
        assert.equal(await signIn('kel', password), 200)
        assert.equal(await signIn('kel', password.normalize('NFC')), 200)
        assert.equal(await signIn('kel', password), 200)
        const { passwordHash = '' } = await userNamed(server, 'kel')
        assert.equal(await passwords.verify(passwordHash, password.normalize('NFC')), true)
      }
    })

    it('does not normalize client secrets', async () => {
      const token = (secret: string) =>
        server.token({ grant_type: 'client_credentials', client_id: 'accented', client_secret: secret })
      assert.equal((await token(SECRET)).status, 200)
      assert.equal((await token(SECRET.normalize('NFD'))).status, 401)
    })
  })
}
