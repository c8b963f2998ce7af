// @ts-check

/**
 * A Person is a customer of the seeded set: id, name, tier, requests a day, and how its traffic goes.
 * @typedef {{ id: string, name: string, tier: 'free' | 'pro' | 'enterprise', daily: number, zone: string, goes: 'steady' | 'growing' | 'spiky' | 'quiet' }} Person
 */

/** @type {(line: string) => Person} */
const person = (line) => {
  const [id, name, tier, daily, zone, goes] = line.split('|').map((part) => part.trim())
  return /** @type {Person} */ ({ id, name, tier, daily: Number(daily), zone, goes })
}

/** The customers of a company that sells an API for parcels. None of them exists. */
export const PEOPLE = `
northwind-freight | Northwind Freight     | enterprise | 412000 | Europe/Berlin    | steady
halden-logistics  | Halden Logistics      | enterprise | 268000 | Europe/Oslo      | growing
mercato-grande    | Mercato Grande        | enterprise | 190500 | Europe/Rome      | spiky
blue-anchor       | Blue Anchor Shipping  | enterprise | 154000 | America/New_York | steady
kumo-commerce     | Kumo Commerce         | enterprise |  98000 | Asia/Tokyo       | growing
papercrane        | Papercrane Books      | pro        |  31200 | Europe/London    | steady
vega-outdoor      | Vega Outdoor          | pro        |  28400 | America/Denver   | spiky
studio-lumen      | Studio Lumen          | pro        |  22100 | Europe/Paris     | steady
tinroof-coffee    | Tinroof Coffee        | pro        |  19800 | America/Chicago  | growing
olive-and-thread  | Olive & Thread        | pro        |  17650 | Europe/Athens    | steady
fjord-cycles      | Fjord Cycles          | pro        |  16900 | Europe/Oslo      | spiky
maple-street      | Maple Street Market   | pro        |  14300 | America/Toronto  | steady
kestrel-audio     | Kestrel Audio         | pro        |  12800 | Europe/London    | quiet
harbour-pharma    | Harbour Pharma        | pro        |  12100 | Europe/Dublin    | steady
solstice-skin     | Solstice Skincare     | pro        |  11000 | Europe/Madrid    | growing
ironwood-tools    | Ironwood Tools        | pro        |   9800 | America/Chicago  | steady
petit-marche      | Le Petit Marché       | pro        |   8700 | Europe/Paris     | steady
quokka-kids       | Quokka Kids           | free       |   7400 | Australia/Perth  | growing
redwood-records   | Redwood Records       | pro        |   6900 | America/Denver   | quiet
anker-und-kompass | Anker & Kompass       | pro        |   6100 | Europe/Berlin    | steady
paper-lantern     | Paper Lantern         | free       |   4100 | Asia/Singapore   | growing
dust-and-vinyl    | Dust & Vinyl          | free       |   3900 | Europe/Berlin    | spiky
crooked-kettle    | The Crooked Kettle    | free       |   2600 | Europe/London    | steady
seedling-labs     | Seedling Labs         | free       |   2400 | America/New_York | growing
bobbin-and-twine  | Bobbin & Twine        | free       |   1900 | Europe/Dublin    | steady
marigold-florist  | Marigold Florist      | free       |   1500 | Europe/London    | quiet
tiny-printshop    | Tiny Printshop        | free       |   1200 | Europe/Vienna    | steady
hexagon-honey     | Hexagon Honey         | free       |    900 | Europe/Ljubljana | quiet
lone-star-boots   | Lone Star Boots       | free       |    800 | America/Chicago  | steady
nightowl-games    | Nightowl Games        | free       |    700 | Europe/Warsaw    | spiky
saltmarsh-soap    | Saltmarsh Soap        | free       |    420 | Europe/London    | quiet
weekend-project   | weekend project       | free       |    150 | UTC              | spiky
`
  .trim()
  .split('\n')
  .map(person)

/** @type {(id: string) => string} */
export const keyOf = (id) => `pk_live_${id.replaceAll('-', '')}_${'0123456789abcdef'.repeat(2).slice(0, 24)}`
