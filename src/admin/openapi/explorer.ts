// The explorer of /docs: one script of RapiDoc, kept compressed. It is read from the disk when a browser asks for it, so that
// the server neither loads nor keeps it. See docs/decisions/0024-api-explorer.md.
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import { cachingOf } from '../../web/assets.ts'
import { namesTag } from '../../web/entity-tag.ts'
import { CORS_VARY } from '../../web/headers.ts'

/** Version of the package rapidoc. */
export const EXPLORER_VERSION = '9.3.8'
/** Digest of its script; scripts/explorer.ts and a test compare it. */
export const EXPLORER_SHA256 = 'affbd173a65e870e18f392cca963113bcdafb6e50e88cd2f6a834a65b22db94d'
/** The compressed script. */
export const EXPLORER_FILE = join(import.meta.dirname, '../../../assets/explorer/rapidoc.js.gz')

const PATH = '/resources/rapidoc.js'

/** Where pages load the script from; changes with the version. */
export const explorerUrl = (basePath: string): string => `${basePath}${PATH}?v=${EXPLORER_VERSION}`

/** Serves the script. */
export function explorerEndpoint(app: FastifyInstance): void {
  const access = { by: 'anyone', because: 'it is a part of a page' } as const
  app.get(PATH, { config: { access, audience: 'open', zone: false } }, async (request, reply) => {
    const { headers } = request
    const isCompressed = acceptsGzip(headers['accept-encoding'])
    const etag = `"rapidoc-${EXPLORER_VERSION}${isCompressed ? '-gzip' : ''}"` // RFC 9110 §8.8.3.3: one for each encoding
    reply.headers({
      etag,
      'cache-control': cachingOf(request, EXPLORER_VERSION),
      vary: `${CORS_VARY}, Accept-Encoding`,
    })
    if (namesTag(headers['if-none-match'], etag)) return reply.status(304).send()
    reply.type('text/javascript; charset=utf-8')
    if (isCompressed) {
      return reply.header('content-encoding', 'gzip').send(createReadStream(EXPLORER_FILE))
    }
    const { createGunzip } = await import('node:zlib') // nothing else at a start needs it, and it takes 4 ms
    // Closes the file also if the caller goes away.
    return reply.send(pipeline(createReadStream(EXPLORER_FILE), createGunzip(), () => {})) // Fastify learns of errors itself
  })
}

const acceptsGzip = (encodings = ''): boolean =>
  encodings.split(',').some(each => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$).*)?$/i.test(each))
