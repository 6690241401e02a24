import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { MODES } from '../../support/oauth.ts'
import { signMetadata } from '../../support/saml/saml-metadata-samples.ts'
import { createSamlIdp } from '../../support/saml/saml-idp.ts'
import { samlTestKey } from '../../support/saml/saml-signing.ts'
import { metadata, providerApi, providerBootstrap, saml } from '../../support/provider-api.ts'
import type { ProviderAnswer } from '../../support/provider-api.ts'
import type { TestServer } from '../../support/server.ts'
import { startServer } from '../../support/server.ts'

/** Starts a server on loopback that serves documents by path. */
async function publish(
  documents: ReadonlyMap<string, string | Buffer | number>,
): Promise<{ url: string; server: Server; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const found = documents.get(path) ?? 404
    if (typeof found === 'number')
      response.writeHead(found, { location: '/good' }).end(metadata('https://redirected.example'))
    else response.end(found)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { url: `http://127.0.0.1:${address.port}`, server, asked }
}

const documents = new Map<string, string | Buffer | number>([
  ['/good', metadata('https://fetched.example')],
  ['/other', metadata('https://other.example')],
  ['/marked', Buffer.from(`\ufeff${metadata('https://marked.example')}`)],
  ['/large', `${metadata('https://large.example')}<!--${'x'.repeat(200_000)}-->`],
  ['/huge', `${metadata('https://huge.example')}<!--${'x'.repeat(1_100_000)}-->`],
  ['/html', '<html></html>'],
  ['/dtd', `<!DOCTYPE a>${metadata('https://dtd.example')}`],
  ['/latin', Buffer.from([0x3c, 0x3f, 0x78, 0x6d, 0x6c, 0x20, 0xe9])],
  ['/moved', 302],
  ['/broken', 500],
])

for (const mode of MODES) {
  describe(`SAML provider metadata in ${mode}`, () => {
    let server: TestServer
    let site: Awaited<ReturnType<typeof publish>>
    const api = providerApi(() => server)
    before(async () => {
      site = await publish(documents)
      server = await startServer({ mode, config: { bootstrap: providerBootstrap } })
    })
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
      site.server.closeAllConnections()
      await new Promise(resolve => site.server.close(resolve))
    })
    const post = (metaDataLocation: unknown, originKey = 'federation') =>
      api.call({ method: 'POST', json: saml(originKey, { metaDataLocation }) })
    const keyOf = async (originKey: string) =>
      (await server.store.providers.findByOrigin('svc', originKey))?.externalKey

    // Covers saml provider config: idpEntityAlias; zoneId
    it('sets the entity id from inline XML', async () => {
      const record = await api.create(saml('inline'))
      assert.equal(await keyOf('inline'), 'https://inline.example/saml')
      assert.deepEqual(
        ['idpEntityAlias', 'zoneId', 'linkText'].map(name => record.config[name]),
        ['inline', 'svc', 'inline'],
      )
    })

    for (const [path, want] of [
      ['good', 'https://fetched.example'],
      ['marked', 'https://marked.example'],
      ['large', 'https://large.example'],
    ] as const) {
      it(`sets the entity id from a URL: ${path}`, async () => {
        const record = await api.create(saml(path, { metaDataLocation: `${site.url}/${path}` }))
        assert.equal(record.config['metaDataLocation'], `${site.url}/${path}`)
        assert.equal(await keyOf(path), want)
      })
    }

    // Covers saml provider config: error: duplicate entity id
    it('rejects an entity id of another provider, inline or from a URL', async () => {
      const answer = await post(metadata('https://fetched.example'), 'another')
      assert.deepEqual([answer.status, answer.text], [409, 'Duplicate entity ID:https://fetched.example'])
      const { id } = await api.create(saml('replaced'))
      const put = (metaDataLocation: string) =>
        api.call({ method: 'PUT', path: `/${id}`, json: saml('replaced', { metaDataLocation }) })
      assert.equal((await put(`${site.url}/good`)).text, 'Duplicate entity ID:https://fetched.example')
      assert.equal((await put(`${site.url}/other`)).status, 200)
      assert.equal((await put(`${site.url}/other`)).status, 200)
      assert.equal(await keyOf('replaced'), 'https://other.example')
    })

    const types: readonly unknown[] = [
      undefined,
      null,
      '',
      '  ',
      'idp.example',
      'ftp://idp.example/',
      'file:///etc/passwd',
      '<html/>',
      'x'.repeat(500),
    ]
    for (const location of types) {
      it(`rejects ${JSON.stringify(location)?.slice(0, 40) ?? 'undefined'} as metaDataLocation`, async () => {
        const answer = await post(location)
        assert.equal(answer.status, 400, answer.text)
        assert.match(answer.text, /^Invalid metadata type for alias\[federation\]:.{0,100}$/)
        assert.match(String(answer.headers['content-type']), /^text\/plain/)
      })
    }

    for (const [name, text] of [
      ['without an entity id', '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata"/>'],
      [
        'with a document type',
        `<?xml version="1.0"?><!DOCTYPE x [<!ENTITY y SYSTEM "file:///etc/passwd">]>${metadata('x')}`,
      ],
      ['that is truncated', metadata('https://x.example').slice(0, -2)],
    ] as const) {
      it(`rejects XML ${name}, without repeating it`, async () => {
        const answer = await post(text)
        assert.equal(answer.status, 400)
        assert.match(answer.text, /^Invalid metadata for alias\[federation\]: [\w ,:()-]{5,80}$/)
      })
    }

    for (const [name, text, problem] of [
      [
        'of a service provider',
        metadata('https://x.example').replaceAll('IDPSSO', 'SPSSO'),
        /no SAML 2.0 identity provider/,
      ],
      [
        'without a usable key',
        metadata('https://x.example').replace('use="signing"', 'use="encryption"'),
        /no certificate/,
      ],
      [
        'that has expired',
        metadata('https://x.example').replace(' entityID=', ' validUntil="2020-01-01T00:00:00Z" entityID='),
        /validUntil/,
      ],
    ] as const) {
      it(`rejects metadata ${name}`, async () => {
        const answer = await post(text)
        assert.equal(answer.status, 400)
        assert.match(answer.text, problem)
      })
    }

    describe('with metadataTrustCheck', () => {
      const key = samlTestKey()
      const idp = createSamlIdp({ clock: systemClock, to: { entityId: 'x', recipient: 'x' }, key })
      const signed = signMetadata(idp.metadata().replace('<md:EntityDescriptor ', '<md:EntityDescriptor ID="_m" '), key)
      const write = (metaDataLocation: string, metadataCertificates?: unknown, originKey = 'trusted') =>
        api.call({
          method: 'POST',
          json: saml(originKey, { metaDataLocation, metadataTrustCheck: true, metadataCertificates }),
        })

      // Covers saml provider config: metadataTrustCheck
      it('requires a valid signature of a configured certificate', async () => {
        for (const text of [idp.metadata(), signed.replace('idp.example/sso', 'evil.example/sso')]) {
          const answer = await write(text)
          assert.deepEqual(
            [answer.status, /its signature cannot be verified/.test(answer.text)],
            [400, true],
            answer.text,
          )
        }
        assert.equal((await write(signed, samlTestKey('ec').certificate)).status, 400)
        const answer = await write(signed, key.certificate)
        assert.equal(answer.status, 201, answer.text)
        assert.equal(answer.json<ProviderAnswer>().config['metadataCertificates'], key.certificate)
        assert.equal(await keyOf('trusted'), idp.entityId)
      })

      it('requires metadataCertificates before fetching', async () => {
        const before = site.asked.length
        const answer = await write(`${site.url}/good`, undefined, 'fetched')
        assert.equal(answer.status, 400)
        assert.match(answer.text, /metadataTrustCheck requires metadataCertificates/)
        assert.equal(site.asked.length, before)
        assert.match(
          (await write(`${site.url}/good`, key.certificate, 'fetched')).text,
          /its signature cannot be verified/,
        )
      })

      for (const certificates of ['x', key.privateKey, `${key.certificate}${key.privateKey}`, 7]) {
        it(`rejects metadataCertificates other than certificates: ${String(certificates).slice(0, 20)}`, async () => {
          const answer = await write(signed, certificates, 'other')
          assert.ok(answer.status === 422 || answer.status === 400, answer.text)
        })
      }
    })

    for (const path of ['html', 'dtd']) {
      it(`rejects an invalid document from a URL: ${path}`, async () => {
        assert.match((await post(`${site.url}/${path}`)).text, /^Invalid metadata for alias/)
      })
    }

    for (const path of ['missing', 'moved', 'broken', 'huge', 'latin']) {
      // Covers saml provider config: error: unusable metadata
      it(`rejects a URL that cannot be fetched: ${path}`, async () => {
        const answer = await post(`${site.url}/${path}`)
        assert.deepEqual([answer.status, answer.text], [400, 'The metadata for alias[federation] cannot be fetched'])
      })
    }

    it('is fetched only for authorized callers and valid providers', async () => {
      const before = site.asked.length
      const metaDataLocation = `${site.url}/good`
      const json = saml('federation', { metaDataLocation })
      assert.equal((await api.call({ method: 'POST', as: 'reader', json })).status, 403)
      assert.equal((await api.call({ method: 'POST', json: saml('svc', { metaDataLocation }) })).status, 422)
      assert.equal((await api.call({ method: 'POST', json: saml('good', { metaDataLocation }) })).status, 409)
      assert.equal((await api.call({ method: 'PUT', path: '/nothing', json })).status, 404)
      assert.equal(site.asked.length, before)
    })

    it('keeps the entity id if other settings change', async () => {
      const record = await api.create(saml('steady'))
      const answer = await api.call({ method: 'PUT', path: `/${record.id}`, json: { ...record, name: 'Steadier' } })
      assert.equal(answer.json<ProviderAnswer>().name, 'Steadier')
      assert.equal(await keyOf('steady'), 'https://steady.example/saml')
    })
  })

  describe(`SAML metadata URLs on a server with a public base_url in ${mode}`, () => {
    it('rejects private addresses with a uniform error', async () => {
      const site = await publish(documents)
      const config = { bootstrap: providerBootstrap, base_url: 'https://id.example' }
      const server = await startServer({ mode, config })
      const api = providerApi(() => server)
      try {
        for (const address of [
          `${site.url}/good`,
          site.url.replace('127.0.0.1', 'localhost'),
          'https://127.0.0.1/good',
          'https://10.0.0.1/metadata',
          'https://192.168.1.1/metadata',
          'https://169.254.169.254/latest/meta-data',
          'https://[::1]/metadata',
          'https://[fd00::1]/metadata',
          'http://idp.example/metadata',
          'https://user:password@10.0.0.1/',
        ]) {
          const answer = await api.call({ method: 'POST', json: saml('inside', { metaDataLocation: address }) })
          assert.deepEqual(
            [answer.status, answer.text],
            [400, 'The metadata for alias[inside] cannot be fetched'],
            address,
          )
        }
        assert.deepEqual(site.asked, [])
        assert.equal(await server.store.providers.findByOrigin('svc', 'inside'), undefined)
        assert.deepEqual(server.faults, [])
      } finally {
        await server.stop()
        site.server.closeAllConnections()
        await new Promise(resolve => site.server.close(resolve))
      }
    })
  })
}
