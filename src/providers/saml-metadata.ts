// Reads the entity id from a SAML identity provider's metadata, a single EntityDescriptor without a document type. Does
// NOT verify trust or the signature, and reads no keys or URLs.
import { SaxesParser } from 'saxes'

/** The result; the problem is shown to the author of the record. */
export type SamlMetadata =
  | { readonly outcome: 'readable'; readonly entityId: string }
  | { readonly outcome: 'unreadable'; readonly problem: string }

/** More than the metadata of one provider; aggregates of federations are refused. */
export const MAX_METADATA_BYTES = 1024 * 1024

/** SAML 2.0 Metadata §2.2.1. */
const MAX_ENTITY_ID_LENGTH = 1024
const MAX_DEPTH = 64
const NAMESPACE = 'urn:oasis:names:tc:SAML:2.0:metadata'

/** Whether the text is inline metadata, not a URL. */
export const isMetadataText = (text: string): boolean => /^(?:<\?xml\s|<(?:md:)?EntityDescriptor[\s/>])/.test(text)

/** Reads metadata; refuses anything but one well-formed EntityDescriptor. */
export function readSamlMetadata(text: string): SamlMetadata {
  try {
    if (Buffer.byteLength(text) > MAX_METADATA_BYTES) throw new Unreadable('it has more than a mebibyte')
    if (!text.isWellFormed()) throw new Unreadable('it has half a surrogate pair')
    if (!isMetadataText(text)) throw new Unreadable('it does not begin with an EntityDescriptor')
    return { outcome: 'readable', entityId: entityIdOf(text) }
  } catch (error) {
    if (error instanceof Unreadable) return { outcome: 'unreadable', problem: error.message }
    throw error
  }
}

class Unreadable extends Error {}

const ROOT = 'EntityDescriptor'
const MAX_ATTRIBUTES = 100

/** Parses the document and returns the entity id of its root element; stops at the first problem. */
function entityIdOf(text: string): string {
  const parser = new SaxesParser({ xmlns: true })
  let depth = 0
  let attributes = 0
  let entityId: string | undefined
  parser.on('error', ({ message }) => {
    // Keeps line, column and problem; the rest repeats the document.
    throw new Unreadable(`it is not well-formed (${/^\d+:\d+: [^:.]*/.exec(message)?.[0] ?? 'unreadable'})`)
  })
  parser.on('doctype', () => {
    throw new Unreadable('it has a document type')
  })
  parser.on('opentagstart', () => {
    attributes = 0
  })
  parser.on('attribute', () => {
    attributes += 1
    if (attributes > MAX_ATTRIBUTES) throw new Unreadable('an element has too many attributes')
  })
  parser.on('opentag', ({ local, uri, attributes: given }) => {
    depth += 1
    if (depth > MAX_DEPTH) throw new Unreadable('it is nested too deeply')
    if (depth > 1 && local === ROOT) throw new Unreadable('it describes more than one entity')
    if (depth > 1) return
    if (local !== ROOT || uri !== NAMESPACE) throw new Unreadable('it is no SAML EntityDescriptor')
    entityId = checkedEntityId(given['entityID']?.value)
  })
  parser.on('closetag', () => {
    depth -= 1
  })
  parser.write(text).close()
  if (entityId === undefined) throw new Unreadable('it has no entityID')
  return entityId
}

function checkedEntityId(entityId: string | undefined): string {
  if (entityId === undefined || entityId.trim() === '') throw new Unreadable('it has no entityID')
  if (/[\t\n\r]/.test(entityId) || entityId !== entityId.trim()) throw new Unreadable('its entityID has white space')
  if (entityId.length > MAX_ENTITY_ID_LENGTH) throw new Unreadable('its entityID is too long')
  return entityId
}
