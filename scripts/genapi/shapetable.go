package main

import "maps"

// shapeRules are the rules by their names in shapes.txt.
var shapeRules = func() map[string]shapeRule {
	all := map[string]shapeRule{}
	for _, topic := range []map[string]shapeRule{dimRules, viewRules, listRules, productRules, linearRules, layerRules, singleRules} {
		maps.Copy(all, topic)
	}
	return all
}()
