// The content of the `/docs` page.
import type { DocumentedArea, DocumentedOperation } from '../../pages/docs.ts'
import { ZONE_HEADERS } from './document.ts'
import type { DescribedArea, DescribedOperation } from './document.ts'
import type { Fields, Schema } from './description.ts'

/** The areas as text. */
export const contentsOf = (areas: readonly DescribedArea[]): readonly DocumentedArea[] =>
  areas.map(({ name, about, operations }) => ({ name, about, operations: operations.map(shown) }))

function shown({ method, path, route, operation, answers }: DescribedOperation): DocumentedOperation {
  const { summary, about, json, form } = operation
  const { access } = route
  return {
    method,
    path,
    summary,
    ...(about !== undefined && { about }),
    callers: callersOf(access, operation.credentials ?? []),
    parameters: [
      ...rows(operation.path, 'path'),
      ...rows(operation.query, 'query'),
      ...rows(operation.headers, 'header'),
      ...(access.by === 'bearer' && access.acrossZones === true ? rows(ZONE_HEADERS, 'header') : []),
      ...rows(form, 'form'),
    ],
    ...(json && { body: JSON.stringify(json.example, null, 2) }),
    answers: Object.entries(answers).map(([status, answer]) => ({ status: Number(status), about: answer.about })),
  }
}

const rows = (fields: Fields | undefined, where: string) =>
  Object.entries(fields ?? {}).map(([name, { about, schema, required }]) => {
    const words = wordsOf(schema)
    return { name, where, about: words === undefined ? about : `${about} One of: ${words}.`, required }
  })

const wordsOf = ({ enum: words }: Schema): string | undefined => (Array.isArray(words) ? words.join(', ') : undefined)

function callersOf(access: DescribedOperation['route']['access'], credentials: readonly string[]): string {
  switch (access.by) {
    case 'anyone':
      return 'Anyone'
    case 'session':
      return 'A signed-in user'
    case 'client': {
      const ways = ['Basic', ...(credentials.includes('form') ? ['the form'] : [])].join(' or ')
      const others = [
        ...(credentials.includes('bearer') ? ['a bearer token'] : []),
        ...(credentials.includes('none') ? ['a public client with its id'] : []),
      ]
      return ['A client with ' + ways, ...others].join('; ')
    }
    case 'bearer': {
      const { resource, scopes = [], ofDefaultZone = [], self } = access
      const rights = [...scopes, ...ofDefaultZone.map(scope => `${scope} of the default zone`)]
      const user = self === undefined ? '' : '; or the user themselves'
      if (rights.length > 0) return `A bearer token with one of: ${rights.join(', ')}${user}`
      return resource === undefined ? 'A bearer token' : `A bearer token for ${resource}`
    }
  }
}
