import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { assertInvalid, changeConcurrently, startClientServer, TO_Z1 } from '../../support/clients.ts'
import type { ClientServer } from '../../support/clients.ts'
import { MODES } from '../../support/oauth.ts'
import type { TestAnswer } from '../../support/server.ts'

const ICON = Buffer.from('an icon').toString('base64')

for (const mode of MODES) {
  describe(`Client metadata in ${mode}`, () => {
    let api: ClientServer
    let count = 0
    before(async () => {
      api = await startClientServer(mode)
    })
    after(() => api.stop())

    /** The default icon. */
    const noIcon = mode === 'uaa' ? { appIcon: '' } : {}
    const put = (id: string, body: unknown) => api.send('PUT', `/oauth/clients/${id}/meta`, body)
    const get = (id: string) => api.send('GET', `/oauth/clients/${id}/meta`, undefined, { by: 'stranger' })
    async function make(members: object = {}): Promise<string> {
      count += 1
      const body = { client_id: `tile-${count}`, authorized_grant_types: ['password'], ...members }
      assert.equal((await api.send('POST', '/oauth/clients', body)).status, 201)
      return body.client_id
    }
    function assertRefused(answer: TestAnswer, status: number, message: string): void {
      assert.equal(answer.status, status, answer.text)
      const { error, message: reported, error_description: description } = answer.json()
      assert.deepEqual([error, reported], ['client_metadata', message])
      // RFC 6749 appendix A.8 allows fewer characters there.
      assert.equal(description, message)
      assert.deepEqual(Object.keys(answer.json()).toSorted(), ['error', 'error_description', 'message'])
    }

    // Covers GET /oauth/clients/{client_id}/meta: response: metadata
    it('is returned to every caller with a token', async () => {
      const id = await make({ name: 'Tile' })
      const answer = await get(id)
      assert.deepEqual(
        [answer.status, answer.json()],
        [200, { clientId: id, clientName: 'Tile', showOnHomePage: true, ...noIcon }],
      )
    })

    // Covers Client metadata record: clientId; clientName; showOnHomePage; appLaunchUrl; appIcon
    // Covers PUT /oauth/clients/{client_id}/meta: body
    it('is replaced by PUT, except the name if it is empty', async () => {
      const id = await make()
      const shown = { clientName: 'Tile', showOnHomePage: true, appLaunchUrl: 'https://tile.example/', appIcon: ICON }
      const first = await put(id, { clientId: id, ...shown })
      assert.deepEqual([first.status, first.json()], [200, { clientId: id, ...shown }])
      assert.deepEqual((await get(id)).json(), { clientId: id, ...shown })
      assert.equal((await api.read(id))?.['name'], 'Tile')
      for (const clientName of [undefined, null, '', ' ']) {
        const left = { clientId: id, clientName: 'Tile', showOnHomePage: false, appIcon: '' }
        assert.deepEqual((await put(id, { clientName })).json(), left)
      }
      assert.equal((await api.read(id))?.['name'], 'Tile')
    })

    it('treats null as absent, and an empty appLaunchUrl as none', async () => {
      const id = await make()
      const answer = await put(id, { clientId: null, showOnHomePage: null, appLaunchUrl: '', appIcon: null })
      assert.deepEqual([answer.status, answer.json()], [200, { clientId: id, showOnHomePage: false, appIcon: '' }])
    })

    // Covers Client metadata record: createdBy
    it('contains a read-only createdBy', async () => {
      const body = { client_id: 'of-a-person', authorized_grant_types: ['client_credentials'], client_secret: 's' }
      await api.send('POST', '/oauth/clients', body, { bearer: await api.userToken() })
      const user = await api.server.store.users.findByName('svc', 'svc', 'marissa')
      const { createdBy } = (await put('of-a-person', { createdBy: 'me' })).json()
      assert.equal(createdBy, user?.id)
    })

    it('is kept if the client changes', async () => {
      const id = await make()
      await put(id, { appLaunchUrl: 'https://tile.example/', appIcon: ICON, showOnHomePage: true })
      await api.send('PUT', `/oauth/clients/${id}`, { client_id: id, name: 'Tile' })
      const left = { clientId: id, clientName: 'Tile', showOnHomePage: true, appLaunchUrl: 'https://tile.example/' }
      assert.deepEqual((await get(id)).json(), { ...left, appIcon: ICON })
    })

    // Covers GET /oauth/clients/meta: response: array
    it('is listed for clients with a URL or an icon, in uaa for every client (C13)', async () => {
      const [plain, linked, bare] = [await make(), await make(), await make()]
      await put(linked, { appLaunchUrl: 'http://tile.example/x?y#z' })
      await put(bare, {})
      const list = (await api.send('GET', '/oauth/clients/meta', undefined, { by: 'stranger' })).json<
        readonly { clientId: string }[]
      >()
      const ids = list.map(({ clientId }) => clientId)
      assert.deepEqual(
        [plain, linked, bare].map(id => ids.includes(id)),
        [mode === 'uaa', true, true],
      )
      assert.deepEqual(ids, ids.toSorted())
      const there = await api.send('GET', '/oauth/clients/meta', undefined, { headers: TO_Z1 })
      assert.equal(there.json<readonly object[]>().length > 0, mode === 'uaa')
      for (const id of [plain, linked, bare]) assert.ok(!there.text.includes(`"${id}"`), id)
    })

    const refused: readonly { name: string; body: object; message: string }[] = [
      // Covers PUT /oauth/clients/{client_id}/meta: error: id differs from the path
      {
        name: 'another id',
        body: { clientId: 'app' },
        message: 'Client ID in body {app} does not match URL path {tile}',
      },
      { name: 'an id that is not a string', body: { clientId: 5 }, message: 'clientId must be a string' },
      { name: 'a name that is not a string', body: { clientName: {} }, message: 'clientName must be a string' },
      { name: 'a name with a NUL character', body: { clientName: 'a\0' }, message: 'clientName must be a string' },
      { name: 'a name with a lone surrogate', body: { clientName: '\ud800' }, message: 'clientName must be a string' },
      {
        name: 'showOnHomePage that is not a boolean',
        body: { showOnHomePage: 'yes' },
        message: 'showOnHomePage must be a boolean',
      },
      {
        name: 'a URL that is not a string',
        body: { appLaunchUrl: ['x'] },
        message: 'appLaunchUrl must be a string',
      },
      { name: 'a relative URL', body: { appLaunchUrl: '/x' }, message: 'appLaunchUrl must be a valid URL' },
      {
        name: 'a URL with a space',
        body: { appLaunchUrl: 'https://a b/' },
        message: 'appLaunchUrl must be a valid URL',
      },
      {
        name: 'a javascript: URL',
        body: { appLaunchUrl: 'javascript:alert(1)' },
        message: 'appLaunchUrl must be a valid URL',
      },
      { name: 'an icon that is not a string', body: { appIcon: 5 }, message: 'appIcon must be a string' },
      { name: 'an icon that is not base64', body: { appIcon: '"><script>' }, message: 'appIcon must be base64' },
      { name: 'an icon with truncated base64', body: { appIcon: 'YQ=' }, message: 'appIcon must be base64' },
    ]
    for (const { name, body, message } of refused) {
      it(`refuses ${name}`, async () => {
        const id = await make()
        const before = (await get(id)).json()
        const expected = message.replace('{tile}', `{${id}}`)
        assertRefused(await put(id, { appLaunchUrl: 'https://other.example/', ...body }), 400, expected)
        assert.deepEqual((await get(id)).json(), before)
      })
    }

    it('rejects a body that is not an object or has 100 kB', async () => {
      for (const body of ['', '[]', 'null', '{']) assert.equal((await put('app', body)).status, 400)
      assert.equal((await put('app', { appIcon: 'A'.repeat(100_000) })).status, 413)
    })

    // Covers error body families: E4 report
    // Covers GET /oauth/clients/{client_id}/meta: error: not found
    // Covers PUT /oauth/clients/{client_id}/meta: error: not found
    it('answers 404 with a reason for unknown clients', async () => {
      assertRefused(await get('nobody'), 404, 'No client metadata found for nobody')
      assertRefused(await get('native'), 404, 'No client metadata found for native')
      assertRefused(await put('nobody', { clientId: 'nobody' }), 404, 'No client with ID nobody')
    })

    // Covers every endpoint: trace
    it('returns no stack trace with trace=true', async () => {
      const answer = await api.send('GET', '/oauth/clients/nobody/meta?trace=true')
      assertRefused(answer, 404, 'No client metadata found for nobody')
    })

    it('answers 409 after a concurrent change', async () => {
      const id = await make({ name: 'Tile' })
      changeConcurrently(api.server, client => api.server.store.clients.update('svc', { ...client, name: 'Other' }))
      const answer = await put(id, { clientName: 'Mine', appIcon: ICON })
      assertInvalid(answer, `The client ${id} was changed concurrently`, 409)
      assert.deepEqual((await get(id)).json(), { clientId: id, clientName: 'Other', showOnHomePage: true, ...noIcon })
    })
  })
}
